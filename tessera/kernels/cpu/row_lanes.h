// One row of a row program, for the lanes of `Ops` (types F, U, HalfH; kLanes of 1, 8 or 16; words_of_halves,
// halves_of_words, from_f16, to_f16).
#pragma once
#include "tessera/kernels/cpu/lane_types.h"
#include "tessera/kernels/row_step.h"
#include "tessera/numeric/math.h"

namespace tessera::cpu {

template <class Ops>
struct RowLanes {
  using F = typename Ops::F;
  using Step = tessera_lanes::RowStep;
  static constexpr std::int64_t kLanes = Ops::kLanes;

  static F at(const float* p) { return cpu::load<F>(p); }
  static void put(float* p, F x) { cpu::store(p, x); }

  // d = fn(i) rounded, for whole vectors: registers have room for 16 more than the last value needs.
  template <class Fn>
  static void each(const Step& s, float* frame, const Fn& fn) {
    const auto round = static_cast<DType>(s.round);
    float* d = frame + s.d;
    if (round == DType::kF32)
      for (std::int64_t i = 0; i < s.width; i += kLanes) put(d + i, fn(i));
    else
      for (std::int64_t i = 0; i < s.width; i += kLanes) put(d + i, round_to(round, fn(i)));
  }

  template <DType kType>
  static void widen(const std::uint8_t* from, std::int64_t width, float* to) {
    constexpr std::int64_t kBytes = bytes_of(kType);
    std::int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) put(to + i, load_floats<Ops, kType>(from + i * kBytes));
    if (kLanes == 1 || i == width) return;
    alignas(64) std::uint8_t rest[sizeof(F)] = {};
    __builtin_memcpy(rest, from + i * kBytes, static_cast<std::size_t>((width - i) * kBytes));
    put(to + i, load_floats<Ops, kType>(rest));
  }
  static void widen(int type, const void* data, std::int64_t index, std::int64_t width, float* to) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    if (static_cast<DType>(type) == DType::kF32) return widen<DType::kF32>(bytes + index * 4, width, to);
    if (static_cast<DType>(type) == DType::kBf16) return widen<DType::kBf16>(bytes + index * 2, width, to);
    return widen<DType::kF16>(bytes + index * 2, width, to);
  }

  // The bytes of a vector as it is stored. Which NaN an operation gives is the processor's choice: one is stored.
  static void narrow(DType type, F x, void* to) {
    const F rounded = math::part::quiet(round_to(type, x));
    if (type == DType::kF32) return cpu::store(to, rounded);
    if (type == DType::kBf16) return cpu::store(to, Ops::halves_of_words(word_of(rounded) >> 16));
    cpu::store(to, Ops::to_f16(rounded));
  }
  static void store_row(const Step& s, const tessera_lanes::RowBuffer& buffer, std::int64_t row, const float* a) {
    const auto type = static_cast<DType>(buffer.type);
    const std::int64_t bytes = bytes_of(type);
    auto* to = static_cast<std::uint8_t*>(buffer.data) + (row * buffer.stride + s.column) * bytes;
    std::int64_t i = 0;
    for (; i + kLanes <= s.width; i += kLanes) narrow(type, at(a + i), to + i * bytes);
    if (kLanes == 1 || i == s.width) return;
    alignas(64) std::uint8_t rest[sizeof(F)];
    narrow(type, at(a + i), rest);
    __builtin_memcpy(to + i * bytes, rest, static_cast<std::size_t>((s.width - i) * bytes));
  }

  // The mean of the squares of `count` values.
  static float mean_square(const float* a, std::int64_t count) {
    alignas(64) float parts[16] = {};
    const std::int64_t whole = count / 16 * 16;
    for (std::int64_t l = 0; l < 16; l += kLanes) {
      F sum = F{};
      for (std::int64_t i = l; i < whole; i += 16) sum = sum + at(a + i) * at(a + i);
      put(parts + l, sum);
    }
    for (std::int64_t i = whole; i < count; ++i) parts[i - whole] += a[i] * a[i];
    for (int apart = 8; apart > 0; apart /= 2)
      for (int l = 0; l < apart; ++l) parts[l] += parts[l + apart];
    return parts[0] / static_cast<float>(count);
  }

  static void mean_squares(const Step& s, float* frame) {
    for (std::int64_t g = 0; g < s.width / s.group; ++g)
      frame[s.d + g] = round_to(static_cast<DType>(s.round), mean_square(frame + s.a + g * s.group, s.group));
  }

  // fn(i, count, g) for the values of each run of `group`, at most kLanes at a time, none past its end.
  template <class Vector, class Single>
  static void runs(const Step& s, const Vector& vector, const Single& single) {
    for (std::int64_t g = 0; g * s.group < s.width; ++g) {
      const std::int64_t begin = g * s.group, end = begin + s.group;
      std::int64_t i = begin;
      for (; i + kLanes <= end; i += kLanes) vector(i, g);
      for (; i < end; ++i) single(i, g);
    }
  }

  static void normalize(const Step& s, float* frame) {
    const auto round = static_cast<DType>(s.round);
    const float *a = frame + s.a, *b = frame + s.b;
    float* d = frame + s.d;
    const auto factor = [&](std::int64_t g) { return math::rsqrt(b[g] + s.number); };
    std::int64_t group = -1;
    float by = 0;
    const auto at_group = [&](std::int64_t g) {
      if (g != group) by = factor(group = g);
      return by;
    };
    runs(
        s, [&](std::int64_t i, std::int64_t g) { put(d + i, round_to(round, at(a + i) * all<F>(at_group(g)))); },
        [&](std::int64_t i, std::int64_t g) { d[i] = round_to(round, a[i] * at_group(g)); });
  }

  static void multiply(const Step& s, float* frame) {
    const float *a = frame + s.a, *b = frame + s.b;
    if (s.group == 0 || s.group == s.width)
      return each(s, frame, [&](std::int64_t i) { return at(a + i) * at(b + i); });
    const auto round = static_cast<DType>(s.round);
    float* d = frame + s.d;
    runs(
        s, [&](std::int64_t i, std::int64_t g) { put(d + i, round_to(round, at(a + i) * at(b + i - g * s.group))); },
        [&](std::int64_t i, std::int64_t g) { d[i] = round_to(round, a[i] * b[i - g * s.group]); });
  }

  // first = a cos - b sin, second = b cos + a sin, each product and each sum rounded.
  template <class V>
  static void rotate(DType round, V a, V b, V cosine, V sine, V& first, V& second) {
    first = round_to(round, round_to(round, a * cosine) + round_to(round, -b * sine));
    second = round_to(round, round_to(round, b * cosine) + round_to(round, a * sine));
  }
  static void rope(const Step& s, float* frame) {
    const auto round = static_cast<DType>(s.round);
    const std::int64_t half = s.rotary / 2;
    const float *cosine = frame + s.b, *sine = cosine + half;
    for (std::int64_t begin = 0; begin < s.width; begin += s.group) {
      const float* a = frame + s.a + begin;
      float* d = frame + s.d + begin;
      std::int64_t i = 0;
      for (; i + kLanes <= half; i += kLanes) {
        F first, second;
        rotate(round, at(a + i), at(a + i + half), at(cosine + i), at(sine + i), first, second);
        put(d + i, first);
        put(d + i + half, second);
      }
      for (; i < half; ++i) rotate(round, a[i], a[i + half], cosine[i], sine[i], d[i], d[i + half]);
      for (i = s.rotary; i < s.group; ++i) d[i] = a[i];
    }
  }

  static void step(const Step& s, const tessera_lanes::RowBuffer* buffers, std::int64_t row, float* frame) {
    using tessera_lanes::RowOp;
    const float *a = frame + s.a, *b = frame + s.b;
    switch (s.op) {
      case RowOp::kLoad: {
        const tessera_lanes::RowBuffer& from = buffers[s.buffer];
        return widen(from.type, from.data, row * from.stride + s.column, s.width, frame + s.d);
      }
      case RowOp::kLoadVector:
        return widen(buffers[s.buffer].type, buffers[s.buffer].data, s.column, s.width, frame + s.d);
      case RowOp::kStore:
        return store_row(s, buffers[s.buffer], row, a);
      case RowOp::kAdd:
        return each(s, frame, [&](std::int64_t i) { return at(a + i) + at(b + i); });
      case RowOp::kSubtract:
        return each(s, frame, [&](std::int64_t i) { return at(a + i) - at(b + i); });
      case RowOp::kMultiply:
        return multiply(s, frame);
      case RowOp::kSilu:
        return each(s, frame, [&](std::int64_t i) { return math::silu(at(a + i)); });
      case RowOp::kSigmoid:
        return each(s, frame, [&](std::int64_t i) { return math::sigmoid(at(a + i)); });
      case RowOp::kGelu:
        return each(s, frame, [&](std::int64_t i) { return math::gelu(at(a + i)); });
      case RowOp::kGeluTanh:
        return each(s, frame, [&](std::int64_t i) { return math::gelu_tanh(at(a + i)); });
      case RowOp::kTanh:
        return each(s, frame, [&](std::int64_t i) { return math::tanh(at(a + i)); });
      case RowOp::kScale:
        return each(s, frame, [&](std::int64_t i) { return at(a + i) * all<F>(s.number); });
      case RowOp::kMeanSquare:
        return mean_squares(s, frame);
      case RowOp::kNormalize:
        return normalize(s, frame);
      case RowOp::kRope:
        return rope(s, frame);
    }
  }
};

template <class Ops>
void run_row(const tessera_lanes::RowStep* steps, std::int64_t count, const tessera_lanes::RowBuffer* buffers,
             std::int64_t row, float* frame) {
  for (std::int64_t i = 0; i < count; ++i) RowLanes<Ops>::step(steps[i], buffers, row, frame);
}

}  // namespace tessera::cpu
