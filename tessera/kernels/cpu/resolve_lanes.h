// Scales and operands from maxima, by each writer's own Rule on lanes.
#pragma once
#include "tessera/kernels/cpu/encode_lanes.h"
#include "tessera/kernels/cpu/lane_kernels.h"
#include "tessera/kernels/cpu/lane_types.h"
#include "tessera_registry/writers_each.inc"

namespace tessera::cpu {

using tessera_lanes::Blocks;

template <class Ops, class Rule>
void resolve_by(const EncodeFacts& facts, Blocks& blocks) {
  using F = typename Ops::F;
  if constexpr (candidates_of<Rule>() == 1) {
    const auto format = struct_at<Format>(facts.format);
    for (std::int64_t i = 0; i < blocks.count; i += Ops::kLanes) {
      const ScaleInput<F> in{load<F>(blocks.maxima + i), facts.global, facts.tensor_amax,
                             static_cast<DType>(facts.source)};
      const ScaleChoice<F> choice = Rule::template scale<F>(format, in);
      store_scales<Ops>(format, blocks.scales, i, blocks.count - i, choice.bits);
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
    const Word<F> bits = load_scales<Ops>(format, blocks.scales, i, blocks.count - i);
    const F scale = decode_scale_bits<F>(format, bits);
    store(blocks.operands + i, given_operand(format, how, static_cast<Sense>(facts.sense), scale, facts.global));
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
      store_scales<Ops>(format, blocks.scales, i, blocks.count - i, best.bits);
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

// Blocks, kLanes of them, whose quotients x * reciprocal might end on the wrong side of a tie: those where a number of
// the source's precision lies within 2^-22 of tie * operand (the product errs by 2^-23 of itself, the quotient by
// 2^-24, tie * operand as computed by 2^-24: together less than 8 units in its last place). Ties have one bit more than
// codes.
template <class Ops, Element kElement>
Int<typename Ops::F> near_ties(DType source, typename Ops::F operand) {
  using F = typename Ops::F;
  constexpr int kTies = 2 << kElement.mantissa_bits;  // in [1, 2)
  const std::uint32_t dropped = source == DType::kBf16 ? 0xffffu : 0x1fffu;
  Int<F> near{};
#pragma GCC unroll 16
  for (int k = 0; k < kTies; ++k) {
    const Word<F> tie = word_of(operand * all<F>(1.f + static_cast<float>(k) / static_cast<float>(kTies)));
    near |= std::bit_cast<Int<F>>(((tie + 8u) & dropped) <= all_words<F>(16u));
  }
  return near;
}

// How much care blocks need. The fast loops take signs and zeros from x and not from the quotient and do not clamp, so
// a quotient must not be NaN, nor beyond the codes, nor vanish for an x that does not (|x| is at least 2^-133 in bf16
// and 2^-24 in f16).
//  - product: q = x * reciprocal is what the writer does (multiply), or the operand is a power of two.
//  - corrected (bf16, f16): r = 1/d rounded, q0 = x r, q = q0 + (x - q0 d) r, the inner difference exact. Equal to x /
//  d
//    rounded for all significands of d and all of x, of 8 and of 11 bits (tests/laws/quotient_test.cc counts them), as
//    long as nothing leaves the normal range: d in [2^-60, 2^16] keeps every term that can reach a code (q >= 2^-18)
//    above 2^-125; smaller quotients end as code 0 either way. q0 itself will do where no tie is near.
//  - divided (f32): the division itself.
template <class Ops, Element kElement>
void prepare_for(const EncodeFacts& facts, Blocks& blocks) {
  using F = typename Ops::F;
  const auto format = struct_at<Format>(facts.format);
  const auto how = struct_at<Encode>(facts.encode);
  const auto source = static_cast<DType>(facts.source);
  if (!has_fast_loop(how)) return;
  const Quotient quotient = quotient_of(format, how, source);
  const bool zero_off = how.sign == SignOfZero::kMinusZeroOff;
  const float low = quotient == Quotient::kCorrected ? 0x1p-60f : how.multiply && zero_off ? 0x1p-16f : 0.f;
  const bool bounded = quotient == Quotient::kCorrected || (!how.multiply && zero_off && source != DType::kF32);
  const float high = bounded ? 0x1p16f : max_finite(kE8M23);
  constexpr float kPast = beyond(kElement);
  const bool inexact = quotient == Quotient::kCorrected && !how.round_quotient;
  for (std::int64_t i = 0; i < blocks.count; i += Ops::kLanes) {
    const F d = load<F>(blocks.operands + i), amax = load<F>(blocks.own + i);
    const F largest = how.multiply ? amax * d : amax;
    const F limit = (how.multiply ? all<F>(1.f) : d) * all<F>(kPast);
    const Int<F> fast = (d > all<F>(0.f)) & (d >= all<F>(low)) & (d <= all<F>(high)) & (largest < limit);
    Int<F> care = fast ? Int<F>{} + kSwiftCare : Int<F>{} + kGeneralCare;
    if (inexact) care |= near_ties<Ops, kElement>(source, d) & Int<F>(Int<F>{} + kExactCare);
    store(blocks.reciprocals + i, how.multiply ? d : all<F>(1.f) / d);
    store_bytes<Ops>(blocks.care + i, std::bit_cast<Word<F>>(care));
  }
}

template <class Ops>
void prepare(const EncodeFacts& facts, Blocks& blocks) {
  const Element element = struct_at<Format>(facts.format).element;
  if (element == kE2M1) return prepare_for<Ops, kE2M1>(facts, blocks);
  if (element == kE4M3) return prepare_for<Ops, kE4M3>(facts, blocks);
  if (element == kE5M2) return prepare_for<Ops, kE5M2>(facts, blocks);
}

}  // namespace tessera::cpu
