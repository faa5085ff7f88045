// Values of one row: general loops that follow the reference for every format, and a fast one for codes of 4 bits into
// 16-bit floats, which looks values up in a table of 16 made for each block.
#pragma once
#include "tessera/kernels/cpu/lane_kernels.h"
#include "tessera/kernels/cpu/lane_types.h"
#include "tessera/numeric/writer.h"

namespace tessera::cpu {

using tessera_lanes::DecodeFacts;
using tessera_lanes::DecodeRow;

inline constexpr std::int64_t kByteStep = 32;
inline constexpr std::int64_t kFactorRun = 256;  // blocks whose factors are computed at a time

// How codes become values: f32(f32(code * before) * factor of the block).
struct Order {
  float before = 1;  // 1, or 1 / global for kReciprocalFirst
  Sense sense = Sense::kMultiply;
  float global = 1;
  bool has_global = false;
};

// Factors of `count` blocks; to has room for a multiple of kLanes. Returns whether all are finite.
template <class Ops>
bool block_factors(const Format& format, const Order& order, const void* scales, std::int64_t first, std::int64_t count,
                   float* to) {
  using F = typename Ops::F;
  Int<F> finite = Int<F>{} - 1;
  for (std::int64_t i = 0; i < count; i += Ops::kLanes) {
    const std::int64_t left = count - i;
    const Word<F> bits = load_scales<Ops>(format, scales, first + i, left);
    F factor = decode_scale_bits<F>(format, bits);
    if (order.has_global && order.sense != Sense::kReciprocalFirst)
      factor = decoding_scale<F>(order.sense, factor, order.global);
    const auto ok = (factor >= all<F>(0.f)) & (factor < all<F>(kInfinity));
    finite &= left >= Ops::kLanes ? ok : ok | Ops::lanes_from(static_cast<int>(left));
    store(to + i, factor);
  }
  return Ops::all_lanes(finite);
}

template <class Ops>
void store_values(DType into, typename Ops::F value, std::uint8_t* to) {
  if (into == DType::kF32)
    store(to, value);
  else
    store(to, Ops::halves_of_words(rounded_bits16<Ops>(into, value)));
}

// Elements [begin, end) of the row, the first at the start of a byte; `factors` begin with its block's.
template <class Ops>
void decode_general(const DecodeFacts& facts, const Order& order, const DecodeRow& row, const float* factors,
                    std::int64_t begin, std::int64_t end) {
  using F = typename Ops::F;
  const auto format = struct_at<Format>(facts.format);
  const auto into = static_cast<DType>(facts.into);
  const std::int64_t size = bytes_of(into);
  const int bits = format.element.bits();
  alignas(64) std::uint8_t codes[kChunk], packed[kChunk], values[kChunk * 4];
  alignas(64) float factor[kChunk];
  BlockCursor cursor{factors, row.block, row.block - begin % row.block};
  for (std::int64_t at = begin; at < end; at += kChunk) {
    const std::int64_t n = end - at < kChunk ? end - at : kChunk;
    if (bits < 8) {
      const std::int64_t bytes = (n * bits + 7) / 8;
      __builtin_memcpy(packed, row.codes + at * bits / 8, static_cast<std::size_t>(bytes));
      for (std::int64_t k = bytes; k < kChunk; ++k) packed[k] = 0;
      unpack_codes<Ops>(bits, packed, codes);
    } else {
      __builtin_memcpy(codes, row.codes + at, static_cast<std::size_t>(n));
      for (std::int64_t k = n; k < kChunk; ++k) codes[k] = 0;
    }
    cursor.fill(factor, n);
    for (std::int64_t k = n; k < kChunk; ++k) factor[k] = 0;
    for (std::int64_t k = 0; k < kChunk; k += Ops::kLanes) {
      F value = decode_element<Ops>(format.element, load_bytes<Ops>(codes + k));
      if (!facts.reads_minus_zero) value = value + 0.f;
      if (order.has_global && order.sense == Sense::kReciprocalFirst) value = value * order.before;
      store_values<Ops>(into, value * load<F>(factor + k), values + k * size);
    }
    __builtin_memcpy(static_cast<std::uint8_t*>(row.out) + at * size, values, static_cast<std::size_t>(n * size));
  }
}

// The 16 bits of values whose NaNs, if any, are the ones that decode() gives.
template <class Ops, DType kInto>
typename Ops::U round_ordinary(typename Ops::F value) {
  if constexpr (kInto == DType::kBf16)
    return (word_of(value) + 0x7fffu + ((word_of(value) >> 16) & 1u)) >> 16;
  else
    return Ops::words_of_halves(Ops::to_f16(value));
}

// Blocks of 16 or 32 into bf16 or f16, 4 * kLanes elements at a time; factors are finite and not negative. Each part of
// 128 bits holds the table of 16 of its elements, low and high bytes apart, and a shuffle of bytes looks them up.
// Returns how many elements it took.
template <class Ops, DType kInto, int kBlock>
std::int64_t decode_tables(const DecodeFacts& facts, const Order& order, const DecodeRow& row, const float* factors,
                           std::int64_t begin, std::int64_t end) {
  using F = typename Ops::F;
  using U = typename Ops::U;
  constexpr std::int64_t kStep = 4 * Ops::kLanes;
  const F small = Ops::repeat_quad(0.f, 0.5f, 1.f, 1.5f) * order.before;
  const F large = Ops::repeat_quad(2.f, 3.f, 4.f, 6.f) * order.before;
  const U minus = Ops::minus_bytes(facts.reads_minus_zero);  // 0x0080 in words, but for code 8 where that reads as +0
  auto* out = static_cast<std::uint8_t*>(row.out);
  const bool streams = facts.streams && reinterpret_cast<std::uintptr_t>(out + 2 * begin) % sizeof(U) == 0;
  std::int64_t at = begin;
  for (; at + kStep <= end; at += kStep) {
    const F factor = Ops::template spread_quads<kBlock>(factors + (at - begin) / kBlock);
    const U words = Ops::pack_words(round_ordinary<Ops, kInto>(small * factor),
                                    round_ordinary<Ops, kInto>(large * factor));  // 8 magnitudes a part
    const U low = words & 0x00ff00ffu, high = (words >> 8) & 0x00ff00ffu;
    const U low_table = Ops::pack_halves(low, low), high_table = Ops::pack_halves(high, high | minus);
    const U codes = Ops::nibbles_to_bytes(row.codes + at / 2);
    const U low_bytes = Ops::look_up(low_table, codes), high_bytes = Ops::look_up(high_table, codes);
    U first, second;
    Ops::join_bytes(low_bytes, high_bytes, first, second);
    std::uint8_t* to = out + 2 * at;
    if (streams) {
      Ops::stream(to, first);
      Ops::stream(to + sizeof(U), second);
    } else {
      store(to, first);
      store(to + sizeof(U), second);
    }
  }
  return at - begin;
}

// Two vectors of values one after the other (lines of bf16 go past the caches where `streams`), whose NaNs, if any, are
// the ones that decode() gives.
template <class Ops, DType kInto>
void store_ordinary(typename Ops::F first, typename Ops::F second, bool streams, std::uint8_t* to) {
  if constexpr (kInto == DType::kF32) {
    store(to, first);
    store(to + sizeof first, second);
  } else if constexpr (kInto == DType::kF16) {
    store(to, Ops::to_f16(first));
    store(to + sizeof first / 2, Ops::to_f16(second));
  } else {
    const auto line = Ops::join_words(round_ordinary<Ops, kInto>(first), round_ordinary<Ops, kInto>(second));
    if (streams)
      Ops::stream(to, line);
    else
      store(to, line);
  }
}

// Codes of 8 bits under factors that are finite and, times 256, still are; kByteStep at a time. A step with a NaN among
// its codes, and what is left of a block, go the general way.
template <class Ops, DType kInto, Element kElement>
void decode_bytes(const DecodeFacts& facts, const Order& order, const DecodeRow& row, const float* factors,
                  std::int64_t begin, std::int64_t end) {
  using F = typename Ops::F;
  using U = typename Ops::U;
  constexpr bool kNarrow = kElement == kE4M3;  // moved to f16's place, its values read 256 times too small
  constexpr auto kLargest = static_cast<std::uint8_t>(kNarrow ? max_code(kE4M3) : max_code(kE5M2) + 1);
  auto* out = static_cast<std::uint8_t*>(row.out);
  for (std::int64_t at = begin; at < end; ++factors) {
    const std::int64_t stop = at + row.block < end ? at + row.block : end;
    const F factor = all<F>(kNarrow ? *factors * 256.f : *factors);
    const bool finite = is_finite(*factors * 256.f);
    const bool streams = facts.streams && reinterpret_cast<std::uintptr_t>(out + 2 * at) % sizeof(U) == 0;
    while (at < stop) {
      if (at + kByteStep > stop || !finite || !Ops::magnitudes_up_to(row.codes + at, kLargest)) {
        const std::int64_t next = at + kByteStep < stop ? at + kByteStep : stop;
        decode_general<Ops>(facts, order, row, factors, at, next);
        at = next;
        continue;
      }
      for (std::int64_t k = 0; k < kByteStep; k += 2 * Ops::kLanes) {
        const U code = Ops::bytes_to_halves(row.codes + at + k);
        const U f16 = kNarrow ? ((code << 7) & 0x3f803f80u) | ((code << 8) & 0x80008000u) : code << 8;
        F low, high;
        Ops::widen_f16(f16, low, high);
        store_ordinary<Ops, kInto>(low * factor, high * factor, streams, out + (at + k) * bytes_of(kInto));
      }
      at += kByteStep;
    }
  }
}

template <class Ops, DType kInto>
std::int64_t decode_fast_into(const DecodeFacts& facts, const Order& order, const DecodeRow& row, const float* factors,
                              std::int64_t begin, std::int64_t end) {
  const auto format = struct_at<Format>(facts.format);
  if (format.element == kE2M1) {
    if constexpr (kInto != DType::kF32) {
      if (!(order.before > 0) || !(order.before < kInfinity)) return 0;
      if (row.block == 16) return decode_tables<Ops, kInto, 16>(facts, order, row, factors, begin, end);
      if (row.block == 32) return decode_tables<Ops, kInto, 32>(facts, order, row, factors, begin, end);
    }
    return 0;
  }
  if (order.before != 1 || !facts.reads_minus_zero || row.block < kByteStep) return 0;
  if (format.element == kE4M3)
    decode_bytes<Ops, kInto, kE4M3>(facts, order, row, factors, begin, end);
  else if (format.element == kE5M2)
    decode_bytes<Ops, kInto, kE5M2>(facts, order, row, factors, begin, end);
  else
    return 0;
  return end - begin;
}

// Returns how many elements it took.
template <class Ops>
std::int64_t decode_fast(const DecodeFacts& facts, const Order& order, const DecodeRow& row, const float* factors,
                         std::int64_t begin, std::int64_t end) {
  const auto into = static_cast<DType>(facts.into);
  if (into == DType::kBf16) return decode_fast_into<Ops, DType::kBf16>(facts, order, row, factors, begin, end);
  if (into == DType::kF16) return decode_fast_into<Ops, DType::kF16>(facts, order, row, factors, begin, end);
  return decode_fast_into<Ops, DType::kF32>(facts, order, row, factors, begin, end);
}

template <class Ops>
void decode(const DecodeFacts& facts, const DecodeRow& row) {
  const auto format = struct_at<Format>(facts.format);
  Order order{
      .before = 1, .sense = static_cast<Sense>(facts.sense), .global = facts.global, .has_global = format.has_global};
  if (order.has_global && order.sense == Sense::kReciprocalFirst) order.before = 1.f / order.global;
  alignas(64) float factors[kFactorRun + Ops::kLanes];
  // Runs of blocks start on a byte: a block of one odd column, of codes of 4 bits, is no format's.
  for (std::int64_t first = 0; first * row.block < row.count; first += kFactorRun) {
    const std::int64_t begin = first * row.block;
    const std::int64_t left = row.count - begin, run = kFactorRun * row.block, end = begin + (left < run ? left : run);
    const std::int64_t blocks = (end - begin + row.block - 1) / row.block;
    const bool finite = block_factors<Ops>(format, order, row.scales, first, blocks, factors);
    const std::int64_t done = finite ? decode_fast<Ops>(facts, order, row, factors, begin, end) : 0;
    if (begin + done < end) decode_general<Ops>(facts, order, row, factors + done / row.block, begin + done, end);
  }
}

}  // namespace tessera::cpu
