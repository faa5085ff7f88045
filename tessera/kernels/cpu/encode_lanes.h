// Codes of one row, given the operand of each of its blocks: general loops that follow the reference line by line for
// every Encode, and fast ones (fast_encode.h) for nearest codes of ordinary numbers.
#pragma once
#include "tessera/kernels/cpu/fast_encode.h"
#include "tessera/kernels/cpu/lane_kernels.h"
#include "tessera/kernels/cpu/lane_types.h"
#include "tessera/numeric/philox.h"
#include "tessera/numeric/writer.h"

namespace tessera::cpu {

using tessera_lanes::Blocks;
using tessera_lanes::EncodeFacts;
using tessera_lanes::Place;
using tessera_lanes::Row;

inline constexpr std::int64_t kMaxSearchedBlock = 32;

// ggml's search: the first of its table's 16 values whose error is least.
template <class Ops>
typename Ops::U first_nearest(typename Ops::F x, typename Ops::F scale) {
  using F = typename Ops::F;
  constexpr float kValues[16] = {0.f,  0.5f,  1.f,  1.5f,  2.f,  3.f,  4.f,  6.f,
                                 -0.f, -0.5f, -1.f, -1.5f, -2.f, -3.f, -4.f, -6.f};
  Word<F> best{};
  F least = magnitude_of(all<F>(0.f) * scale - x);
  for (std::uint32_t code = 1; code < 16; ++code) {
    const F error = magnitude_of((F{} + kValues[code]) * scale - x);
    const auto better = error < least;
    least = better ? error : least;
    best = better ? all_words<F>(code) : best;
  }
  return best;
}

// The code of each lane: reference::code_of.
template <class Ops>
typename Ops::U code_lanes(Element element, const Encode& how, DType source, typename Ops::F x, typename Ops::F operand,
                           typename Ops::U random) {
  using F = typename Ops::F;
  if (how.ties == Ties::kFirst) return first_nearest<Ops>(x, operand);
  F q = how.multiply ? x * operand : x / operand;
  if (how.round_quotient) q = round_to(source, q);
  const F a = magnitude_of(q);
  Word<F> code = how.stochastic ? encode_magnitude_stochastic<F>(element, a, random) : encode_magnitude<F>(element, a);
  if (how.ties == Ties::kTowardZero) {
    const F middle = (decode_magnitude<F>(element, code - 1u) + decode_magnitude<F>(element, code)) * 0.5f;
    const auto lower = (a == middle) & (code > all_words<F>(0u));
    code = lower ? code - 1u : code;
  }
  if (how.ties == Ties::kHalfAdded) {
    const F half = all<F>(pow2(-element.bias - element.mantissa_bits));
    const auto just_below = (a < half) & (a + half == half + half);
    code = just_below ? all_words<F>(1u) : code;
  }
  Word<F> minus = Word<F>{} - (word_of(q) >> 31);
  const auto as_words = [](auto mask) { return std::bit_cast<Word<F>>(mask); };
  if (how.sign == SignOfZero::kMinusZeroOff) minus = as_words(q < all<F>(0.f));
  if (how.sign == SignOfZero::kSetOnZero) minus = as_words(q <= all<F>(0.f));
  if (how.sign == SignOfZero::kDropped) minus &= as_words(code != all_words<F>(0u));
  code = code | (minus & element.sign_bit());
  const std::uint32_t nan = element.specials == Specials::kNone ? how.nan_code : nan_code(element);
  code = is_nan_lane(q) ? all_words<F>(nan) : code;
  if (how.infinite_is_zero) code = operand == all<F>(kInfinity) ? all_words<F>(0u) : code;
  return code;
}

// `count` values from x[at] as floats; `padded` values are written, the rest zero. padded: a multiple of kLanes.
template <class Ops, DType kSource>
void widen_run_of(const void* x, std::int64_t at, std::int64_t count, float* to, std::int64_t padded) {
  constexpr auto kBytes = static_cast<std::size_t>(bytes_of(kSource));
  const auto* from = static_cast<const std::uint8_t*>(x) + at * static_cast<std::int64_t>(kBytes);
  for (std::int64_t i = 0; i < padded; i += Ops::kLanes) {
    alignas(64) std::uint8_t rest[sizeof(typename Ops::F)] = {};
    const std::uint8_t* here = from + i * static_cast<std::int64_t>(kBytes);
    if (i + Ops::kLanes > count) {
      if (i < count) __builtin_memcpy(rest, here, static_cast<std::size_t>(count - i) * kBytes);
      here = rest;
    }
    store(to + i, load_floats<Ops, kSource>(here));
  }
}
template <class Ops>
void widen_run(DType source, const void* x, std::int64_t at, std::int64_t count, float* to, std::int64_t padded) {
  if (source == DType::kBf16) return widen_run_of<Ops, DType::kBf16>(x, at, count, to, padded);
  if (source == DType::kF16) return widen_run_of<Ops, DType::kF16>(x, at, count, to, padded);
  widen_run_of<Ops, DType::kF32>(x, at, count, to, padded);
}

// Words of logical elements `logical` .. + kChunk: `to` has room for kChunk + 4 * kLanes. Returns where the first is.
template <class Ops>
const std::uint32_t* random_run(const RandomKey& key, std::uint64_t logical, std::uint32_t* to) {
  using U = typename Ops::U;
  const std::uint64_t first = logical / 4;
  for (std::int64_t i = 0; i < kChunk + 4; i += 4 * Ops::kLanes) {
    U low, high;  // of the counters, one a lane
    for (int k = 0; k < Ops::kLanes; ++k) {
      const std::uint64_t counter = first + static_cast<std::uint64_t>(i / 4 + k);
      low[k] = static_cast<std::uint32_t>(counter);
      high[k] = static_cast<std::uint32_t>(counter >> 32);
    }
    U word[4] = {low, high, U{} + static_cast<std::uint32_t>(key.stream),
                 U{} + static_cast<std::uint32_t>(key.stream >> 32)};
    auto key0 = static_cast<std::uint32_t>(key.seed), key1 = static_cast<std::uint32_t>(key.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const auto a = Ops::multiply_wide(word[0], 0xD2511F53u), b = Ops::multiply_wide(word[2], 0xCD9E8D57u);
      const U next[4] = {b.high ^ word[1] ^ key0, b.low, a.high ^ word[3] ^ key1, a.low};
      for (int k = 0; k < 4; ++k) word[k] = next[k];
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    for (int k = 0; k < Ops::kLanes; ++k)
      for (int w = 0; w < 4; ++w) to[i + 4 * k + w] = word[w][k];
  }
  return to + logical % 4;
}

// Elements [begin, end) of the row, the first at the start of a byte.
template <class Ops>
void encode_general(const EncodeFacts& facts, const Row& row, const Blocks& blocks, const Place& place,
                    std::int64_t begin, std::int64_t end) {
  using F = typename Ops::F;
  const auto format = struct_at<Format>(facts.format);
  const auto how = struct_at<Encode>(facts.encode);
  const auto key = struct_at<RandomKey>(facts.key);
  const auto source = static_cast<DType>(facts.source);
  const int bits = format.element.bits();
  const std::int64_t past = begin < row.first ? 0 : 1 + (begin - row.first) / row.block;
  const std::int64_t within = past == 0 ? row.block - row.first + begin : (begin - row.first) % row.block;
  BlockCursor cursor{blocks.operands + past, row.block, row.block - within};
  alignas(64) float x[kChunk], operand[kChunk];
  alignas(64) std::uint32_t random[kChunk + 4 * Ops::kLanes];
  alignas(64) std::uint8_t codes[kChunk], packed[kChunk];
  for (std::int64_t at = begin; at < end; at += kChunk) {
    const std::int64_t n = end - at < kChunk ? end - at : kChunk;
    for (std::int64_t k = n; k < kChunk; ++k) operand[k] = 1;
    cursor.fill(operand, n);
    widen_run<Ops>(source, row.x, at, n, x, kChunk);
    const std::uint32_t* words = random;
    if (how.stochastic) words = random_run<Ops>(key, place.logical + static_cast<std::uint64_t>(at), random);
    for (std::int64_t k = 0; k < kChunk; k += Ops::kLanes) {
      Word<F> lane_words{};
      if (how.stochastic) lane_words = load<Word<F>>(words + k);
      store_bytes<Ops>(codes + k,
                       code_lanes<Ops>(format.element, how, source, load<F>(x + k), load<F>(operand + k), lane_words));
    }
    if (bits == 8) {
      __builtin_memcpy(place.codes + at, codes, static_cast<std::size_t>(n));
      continue;
    }
    for (std::int64_t k = n; k < kChunk; ++k) codes[k] = 0;  // what is left of a row's last byte
    pack_codes<Ops>(bits, codes, packed);
    __builtin_memcpy(place.codes + at * bits / 8, packed, static_cast<std::size_t>((n * bits + 7) / 8));
  }
}

template <class Ops>
void encode(const EncodeFacts& facts, const Row& row, const Blocks& blocks, const Place& place) {
  std::int64_t at = 0;
  if (has_fast_loop(struct_at<Encode>(facts.encode))) {
    const bool partial = row.first < row.block;
    if (partial) at = row.first < row.count ? row.first : row.count;
    if (at > 0) encode_general<Ops>(facts, row, blocks, place, 0, at);
    at = encode_fast<Ops>({facts, row, blocks, place}, partial ? 1 : 0, at);
  }
  if (at < row.count) encode_general<Ops>(facts, row, blocks, place, at, row.count);
}

}  // namespace tessera::cpu
