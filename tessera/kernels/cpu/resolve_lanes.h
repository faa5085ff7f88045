// Scales and operands from maxima, by each writer's own Rule on lanes.
#pragma once
#include "tessera/kernels/cpu/encode_lanes.h"
#include "tessera/kernels/cpu/lane_kernels.h"
#include "tessera/kernels/cpu/lane_types.h"
#include "tessera_registry/writers_each.inc"

namespace tessera::cpu {

using tessera_lanes::Blocks;

// Stores the scales of blocks [i, i + kLanes) that exist.
template <class Ops>
void store_scales(const Format& format, Blocks& blocks, std::int64_t i, typename Ops::U bits) {
  const std::int64_t left = blocks.count - i;
  const auto n = static_cast<std::size_t>(left < Ops::kLanes ? left : Ops::kLanes);
  if (format.scale == kE8M23) {
    __builtin_memcpy(static_cast<float*>(blocks.scales) + i, &bits, n * sizeof(float));
  } else {
    const auto bytes = __builtin_convertvector(bits, typename Ops::ByteLanes);
    __builtin_memcpy(static_cast<std::uint8_t*>(blocks.scales) + i, &bytes, n);
  }
}

template <class Ops, class Rule>
void resolve_by(const EncodeFacts& facts, Blocks& blocks) {
  using F = typename Ops::F;
  if constexpr (candidates_of<Rule>() == 1) {
    const auto format = struct_at<Format>(facts.format);
    for (std::int64_t i = 0; i < blocks.count; i += Ops::kLanes) {
      const ScaleInput<F> in{load<F>(blocks.maxima + i), facts.global, facts.tensor_amax,
                             static_cast<DType>(facts.source)};
      const ScaleChoice<F> choice = Rule::template scale<F>(format, in);
      store_scales<Ops>(format, blocks, i, choice.bits);
      store(blocks.operands + i, choice.operand);
    }
  }
}

template <class Ops>
void resolve(const EncodeFacts& facts, Blocks& blocks) {
  using Call = void (*)(const EncodeFacts&, Blocks&);
#define TESSERA_RESOLVE(name) &resolve_by<Ops, decltype(writers::name)::Rule>,
  static constexpr Call kCalls[] = {TESSERA_EACH_writers(TESSERA_RESOLVE)};  // in the order of all_writers()
#undef TESSERA_RESOLVE
  kCalls[facts.writer](facts, blocks);
}

// The operands that go with scales that are given.
template <class Ops>
void resolve_given(const EncodeFacts& facts, Blocks& blocks) {
  using F = typename Ops::F;
  const auto format = struct_at<Format>(facts.format);
  const auto how = struct_at<Encode>(facts.encode);
  for (std::int64_t i = 0; i < blocks.count; i += Ops::kLanes) {
    const std::int64_t left = blocks.count - i;
    const auto n = static_cast<std::size_t>(left < Ops::kLanes ? left : Ops::kLanes);
    Word<F> bits{};
    if (format.scale == kE8M23) {
      __builtin_memcpy(&bits, static_cast<const float*>(blocks.scales) + i, n * sizeof(float));
    } else {
      typename Ops::ByteLanes bytes{};
      __builtin_memcpy(&bytes, static_cast<const std::uint8_t*>(blocks.scales) + i, n);
      bits = __builtin_convertvector(bytes, Word<F>);
    }
    const F scale = decode_scale_bits<F>(format, bits);
    const F decoding = decoding_scale<F>(static_cast<Sense>(facts.sense), scale, facts.global);
    store(blocks.operands + i, how.multiply ? all<F>(1.f) / decoding : decoding);
  }
}

// A writer that searches: lanes are blocks. Elements of kLanes blocks stand transposed, so that each block's errors are
// added in index order, as the reference adds them.
template <class Ops, class Rule>
void search_by(const EncodeFacts& facts, const Row& row, Blocks& blocks) {
  using F = typename Ops::F;
  if constexpr (candidates_of<Rule>() > 1) {
    const auto format = struct_at<Format>(facts.format);
    const auto how = struct_at<Encode>(facts.encode);
    const auto source = static_cast<DType>(facts.source);
    alignas(64) float flat[kMaxSearchedBlock * Ops::kLanes], across[kMaxSearchedBlock * Ops::kLanes];
    for (std::int64_t i = 0; i < blocks.count; i += Ops::kLanes) {
      const std::int64_t at = i * row.block, span = row.block * Ops::kLanes;
      widen_run<Ops>(source, row.x, at, row.count - at < span ? row.count - at : span, flat, span);
      for (std::int64_t b = 0; b < Ops::kLanes; ++b)
        for (std::int64_t k = 0; k < row.block; ++k) across[k * Ops::kLanes + b] = flat[b * row.block + k];
      const ScaleInput<F> in{load<F>(blocks.maxima + i), facts.global, facts.tensor_amax, source};
      ScaleChoice<F> best{};
      F least{};
      for (int candidate = 0; candidate < Rule::kCandidates; ++candidate) {
        const ScaleChoice<F> next = Rule::template scale<F>(format, in, candidate);
        const F scale = decode_scale_bits<F>(format, next.bits);
        F error{};
        for (std::int64_t k = 0; k < row.block; ++k) {
          const F x = load<F>(across + k * Ops::kLanes);
          const Word<F> code = code_lanes<Ops>(format.element, how, source, x, next.operand, Word<F>{});
          const F restored =
              Rule::template restored<F>(decode_element<Ops>(format.element, code), scale, facts.tensor_amax);
          // Lanes beyond the row's end hold zeros, which add nothing to the blocks that exist.
          error = error + magnitude_of(restored - x);
        }
        const auto better = error < least;
        const auto first = Int<F>{} - (candidate == 0 ? 1 : 0);
        const auto take = better | first;
        least = take ? error : least;
        best.bits = take ? next.bits : best.bits;
        best.operand = take ? next.operand : best.operand;
      }
      store_scales<Ops>(format, blocks, i, best.bits);
      store(blocks.operands + i, best.operand);
    }
  }
}

template <class Ops>
void search(const EncodeFacts& facts, const Row& row, Blocks& blocks) {
  using Call = void (*)(const EncodeFacts&, const Row&, Blocks&);
#define TESSERA_SEARCH(name) &search_by<Ops, decltype(writers::name)::Rule>,
  static constexpr Call kCalls[] = {TESSERA_EACH_writers(TESSERA_SEARCH)};
#undef TESSERA_SEARCH
  kCalls[facts.writer](facts, row, blocks);
}

// Where the fast loops are exact. They take signs and zeros from x and not from the quotient, and clamp, so a quotient
// must not be NaN, nor vanish for an x that does not (|x| is at least 2^-133 in bf16 and 2^-24 in f16).
//  - product: q = x * reciprocal is what the writer does (multiply), or the operand is a power of two.
//  - corrected (bf16, f16): r = 1/d rounded, q0 = x r, q = q0 + (x - q0 d) r, the inner difference exact. Equal to x /
//  d
//    rounded for all significands of x of 8 and 11 bits and all of d (bench/quantize.cc --proof counts them) as long as
//    nothing leaves the normal range: d in [2^-60, 2^16] and q below 2^100 keep every term that can reach a code
//    (q >= 2^-18) above 2^-125; smaller quotients end as code 0 either way.
//  - divided (f32): the division itself.
template <class Ops>
void prepare(const EncodeFacts& facts, Blocks& blocks) {
  using F = typename Ops::F;
  const auto format = struct_at<Format>(facts.format);
  const auto how = struct_at<Encode>(facts.encode);
  const Quotient quotient = quotient_of(format, how, static_cast<DType>(facts.source));
  blocks.plain = false;
  if (!has_fast_loop(how)) return;
  Int<F> good = Int<F>{} - 1;
  for (std::int64_t i = 0; i < blocks.count; i += Ops::kLanes) {
    const F d = load<F>(blocks.operands + i), amax = load<F>(blocks.own + i);
    Int<F> ok = (d > all<F>(0.f)) & (d < all<F>(kInfinity)) & (amax < all<F>(kInfinity));
    if (quotient == Quotient::kProduct && how.sign == SignOfZero::kMinusZeroOff) ok &= d <= all<F>(0x1p16f);
    if (quotient == Quotient::kCorrected)
      ok &= (d >= all<F>(0x1p-60f)) & (d <= all<F>(0x1p16f)) & (amax < d * all<F>(0x1p100f));
    store(blocks.reciprocals + i, how.multiply ? d : all<F>(1.f) / d);
    const std::int64_t left = blocks.count - i;
    good &= left >= Ops::kLanes ? ok : ok | Ops::lanes_from(static_cast<int>(left));
  }
  blocks.plain = Ops::all_lanes(good);
}

}  // namespace tessera::cpu
