// One element on a GPU: the lines of kernels/reference/quantize.cc, with the search of encode() replaced by
// encode_magnitude(), which gives the same codes.
#pragma once
#include "tessera/kernels/cuda/launch.h"

namespace tessera::cuda {

// Elements as kernel template arguments: a class value cannot be one.
enum class Kind : int { kE2M1, kE2M3, kE3M2, kE4M3, kE5M2 };
constexpr Element element_of(Kind kind) {
  switch (kind) {
    case Kind::kE2M1:
      return kE2M1;
    case Kind::kE2M3:
      return kE2M3;
    case Kind::kE3M2:
      return kE3M2;
    case Kind::kE4M3:
      return kE4M3;
    case Kind::kE5M2:
      return kE5M2;
  }
  return kNoElement;
}

// The element at `i` as a float; a NaN of 16 bits becomes the quiet one of its sign, as decode() gives it.
template <DType kType>
__device__ inline float element_at(const void* x, std::int64_t i) {
  if constexpr (kType == DType::kF32) {
    return static_cast<const float*>(x)[i];
  } else {
    const std::uint32_t bits = static_cast<const std::uint16_t*>(x)[i];
    const std::uint32_t sign = bits >> 15 << 31, a = bits & 0x7fffu;
    if constexpr (kType == DType::kBf16) return __uint_as_float(a > 0x7f80u ? sign | 0x7fc00000u : bits << 16);
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<std::uint16_t>(bits)));
    return a > 0x7c00u ? __uint_as_float(sign | 0x7fc00000u) : value;
  }
}

// A GPU gives one NaN for all; a CPU keeps the operand's, made quiet, and makes its own (negative) one of infinities
// and zeros. Stored bytes hold the CPU's.
__device__ inline float nan_as_on_cpu(float result, float a, float b) {
  if (!is_nan(result)) return result;
  const std::uint32_t bits = is_nan(a) ? __float_as_uint(a) : is_nan(b) ? __float_as_uint(b) : 0xffc00000u;
  return __uint_as_float(bits | 0x00400000u);
}

__device__ inline std::uint32_t stored_scale(const Format& format, const void* scales, std::int64_t i) {
  return format.scale == kE8M23 ? static_cast<const std::uint32_t*>(scales)[i]
                                : static_cast<const std::uint8_t*>(scales)[i];
}

// ggml's search: the first of its table's 16 values whose error is least.
__device__ inline std::uint32_t first_nearest(float x, float scale) {
  std::uint32_t best = 0;
  float least = magnitude(0.f * scale - x);
  for (std::uint32_t code = 1; code < 16; ++code) {
    const float error = magnitude(decode(kE2M1, code) * scale - x);
    if (error < least) {
      least = error;
      best = code;
    }
  }
  return best;
}

// reference::code_of.
__device__ inline std::uint32_t code_of(Element element, const Encode& how, DType source, float x, float operand,
                                        std::uint32_t random) {
  if (how.ties == Ties::kFirst) return first_nearest(x, operand);
  if (how.infinite_is_zero && operand == kInfinity) return 0;
  float q = how.multiply ? x * operand : x / operand;
  if (how.round_quotient) q = round_to(source, q);
  if (is_nan(q)) return element.specials == Specials::kNone ? how.nan_code : nan_code(element);
  const float a = magnitude(q);
  std::uint32_t code =
      how.stochastic ? encode_magnitude_stochastic<float>(element, a, random) : encode_magnitude<float>(element, a);
  if (how.ties == Ties::kTowardZero && code > 0) {
    const float middle = (decode(element, code - 1) + decode(element, code)) / 2;
    if (a == middle) code -= 1;
  }
  if (how.ties == Ties::kHalfAdded && code == 0) {
    const float half = decode(element, 1) / 2;
    if (a < half && a + half == 2 * half) code = 1;
  }
  const bool minus = __float_as_uint(q) >> 31 != 0;
  bool sign = minus;
  if (how.sign == SignOfZero::kMinusZeroOff) sign = q < 0;
  if (how.sign == SignOfZero::kSetOnZero) sign = q <= 0;
  if (how.sign == SignOfZero::kDropped) sign = minus && code != 0;
  return sign ? code | element.sign_bit() : code;
}

// reference::value_of.
__device__ inline float value_of(const Format& format, Element element, Sense sense, bool reads_minus_zero,
                                 std::uint32_t code, float scale, float global) {
  float value = decode(element, code);
  if (!reads_minus_zero) value = nan_as_on_cpu(value + 0.f, value, 0.f);
  if (!format.has_global) return nan_as_on_cpu(value * scale, value, scale);
  if (sense == Sense::kReciprocalFirst) {
    const float reciprocal = nan_as_on_cpu(1.f / global, global, global);
    const float product = nan_as_on_cpu(value * reciprocal, value, reciprocal);
    return nan_as_on_cpu(product * scale, product, scale);
  }
  const float together = nan_as_on_cpu(decoding_scale(sense, scale, global), scale, global);
  return nan_as_on_cpu(value * together, value, together);
}

// Calls f with the dtype as a constant.
template <class F>
void with_source(DType type, F f) {
  if (type == DType::kF32) f.template operator()<DType::kF32>();
  if (type == DType::kBf16) f.template operator()<DType::kBf16>();
  if (type == DType::kF16) f.template operator()<DType::kF16>();
}
template <class F>
void with_kind(Element element, F f) {
  if (element == kE2M1) f.template operator()<Kind::kE2M1>();
  if (element == kE2M3) f.template operator()<Kind::kE2M3>();
  if (element == kE3M2) f.template operator()<Kind::kE3M2>();
  if (element == kE4M3) f.template operator()<Kind::kE4M3>();
  if (element == kE5M2) f.template operator()<Kind::kE5M2>();
}

// A grid that covers `items` with one thread each, at most `most` blocks; kernels walk on by gridDim.
inline unsigned int blocks_for(std::int64_t items, int threads, std::int64_t most = 132 * 64) {
  const std::int64_t wanted = ceil_div(items, threads);
  return static_cast<unsigned int>(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

}  // namespace tessera::cuda
