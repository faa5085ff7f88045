// The fast loops: nearest codes of ordinary numbers (prepare() says when), 2 * kLanes elements at a time, the even ones
// in one vector and the odd ones in another, so that neighbours meet in one word when they are packed.
#pragma once
#include "tessera/kernels/cpu/lane_kernels.h"
#include "tessera/kernels/cpu/lane_types.h"
#include "tessera/numeric/writer.h"

namespace tessera::cpu {

using tessera_lanes::Blocks;
using tessera_lanes::EncodeFacts;
using tessera_lanes::Place;
using tessera_lanes::Row;

enum class Quotient : std::uint8_t { kProduct, kCorrected, kDivided };

constexpr Quotient quotient_of(const Format& format, const Encode& how, DType source) {
  if (how.multiply || format.scale == kE8M0) return Quotient::kProduct;
  return source == DType::kF32 ? Quotient::kDivided : Quotient::kCorrected;
}
constexpr bool has_fast_loop(const Encode& how) {
  return how.ties == Ties::kEven && !how.stochastic &&
         (how.sign == SignOfZero::kKept || how.sign == SignOfZero::kMinusZeroOff);
}

// What a loop is compiled for.
struct Shape {
  Element element;
  DType source;
  Quotient quotient;
  bool zero_off;  // SignOfZero::kMinusZeroOff
  bool round_quotient;
  int block;  // 16, 32, or 0: one operand for the whole run
};

template <class Ops>
struct Pair {
  typename Ops::F even, odd;  // magnitudes
  typename Ops::U signs;      // words of 16 bits, whose top bits are the signs of the elements
};

template <class Ops, DType kSource>
Pair<Ops> load_pair(const std::uint8_t* x) {
  using F = typename Ops::F;
  using U = typename Ops::U;
  if constexpr (kSource == DType::kBf16) {
    const U both = load<U>(x);
    return {float_of<F>((both & 0x7fffu) << 16), float_of<F>(both & 0x7fff0000u), both};
  } else if constexpr (kSource == DType::kF16) {
    const U both = load<U>(x);
    F low, high;
    Ops::widen_f16(both & 0x7fff7fffu, low, high);
    return {Ops::evens(low, high), Ops::odds(low, high), both};
  } else {
    const F low = load<F>(x), high = load<F>(x + sizeof(F));
    const F even = Ops::evens(low, high), odd = Ops::odds(low, high);
    return {magnitude_of(even), magnitude_of(odd), (word_of(even) >> 16) | (word_of(odd) & 0xffff0000u)};
  }
}

template <class Ops, Shape kShape>
typename Ops::F quotient_lanes(typename Ops::F x, typename Ops::F operand, typename Ops::F reciprocal) {
  using F = typename Ops::F;
  F q;
  if constexpr (kShape.quotient == Quotient::kDivided) {
    q = x / operand;
  } else {
    q = x * reciprocal;
    if constexpr (kShape.quotient == Quotient::kCorrected)
      q = Ops::fused(Ops::fused_minus(q, operand, x), reciprocal, q);  // q + (x - q * operand) * reciprocal
  }
  if constexpr (kShape.round_quotient) q = round_to(kShape.source, q);
  return q;
}

// The code of a magnitude in the low byte of each word; what stands above is not looked at.
template <class Ops, Element kElement>
typename Ops::U magnitude_code(typename Ops::F a) {
  using F = typename Ops::F;
  if constexpr (kElement == kE2M1) {
    // min(RNE(2a), RNE(a) + 2, RNE(a / 2) + 4, 7): the codes are three ladders of steps 1/2, 1 and 2.
    constexpr float kMagic = 0x1.8p23f;  // sums have the unit 1
    const F fine = Ops::fused(a, all<F>(2.f), all<F>(kMagic));
    const F middle = a + all<F>(kMagic + 2.f);
    const F coarse = Ops::fused(a, all<F>(0.5f), all<F>(kMagic + 4.f));
    return word_of(Ops::smaller(Ops::smaller(fine, middle), Ops::smaller(coarse, all<F>(kMagic + 7.f))));
  } else {
    // Adding 2^(23 - mantissa bits) times a's own power of two makes the sum's unit the spacing of codes there. Its low
    // byte counts that spacing, `base` (even, so that ties stay even) brings the count to the code of 2^e less its
    // exponent, and the exponent's bits are added where they stand in the code. Under the normal range e stays put.
    constexpr auto kMantissa = static_cast<std::uint32_t>(kElement.mantissa_bits);
    constexpr std::uint32_t kFirst = static_cast<std::uint32_t>(128 - kElement.bias);  // exponent of 2^(1 - bias)
    constexpr std::uint32_t kBase = (0u - (kFirst << kMantissa)) & 0xffu;
    static_assert(kBase % 2 == 0);
    const F clamped = Ops::smaller(a, all<F>(max_finite(kElement)));
    const Word<F> power = Ops::max_words(word_of(clamped) & 0x7f800000u, all_words<F>(kFirst << 23));
    const Word<F> magic = power + (((23u - kMantissa) << 23) + kBase);
    return word_of(clamped + float_of<F>(magic)) + (power >> (23u - kMantissa));
  }
}

// One pair's codes with their signs, each alone in a word of 16 bits.
template <class Ops, Shape kShape>
typename Ops::U pair_codes(const std::uint8_t* x, typename Ops::F operand, typename Ops::F reciprocal) {
  using F = typename Ops::F;
  Pair<Ops> p = load_pair<Ops, kShape.source>(x);
  const F even = quotient_lanes<Ops, kShape>(p.even, operand, reciprocal);
  const F odd = quotient_lanes<Ops, kShape>(p.odd, operand, reciprocal);
  constexpr int kSign = kShape.element.bits() - 1;
  // f32 goes down to 2^-149, and f16 is coarse near zero: a quotient may vanish, and then has no sign.
  constexpr bool kVanishes = kShape.zero_off && (kShape.source == DType::kF32 || kShape.round_quotient);
  if constexpr (kVanishes) {
    const auto even_is = std::bit_cast<Word<F>>(even != all<F>(0.f)),
               odd_is = std::bit_cast<Word<F>>(odd != all<F>(0.f));
    p.signs &= (even_is >> 16) | (odd_is & 0xffff0000u);
  }
  const Word<F> signs = Ops::template sign_words < 15 - kSign,
                kShape.zero_off && kShape.source != DType::kF32 > (p.signs);
  const Word<F> a = magnitude_code<Ops, kShape.element>(even), b = magnitude_code<Ops, kShape.element>(odd);
  const Word<F> codes = (a & 0xffffu) | (b << 16);
  constexpr std::uint32_t kMask = ((1u << kSign) - 1u) * 0x10001u;
  return (codes & kMask) | (signs & ~kMask);
}

// `count` elements, a multiple of the loop's step; returns how many it took.
template <class Ops, Shape kShape>
std::int64_t encode_loop(const std::uint8_t* x, std::int64_t count, const float* operands, const float* reciprocals,
                         const Place& place, std::uint8_t* codes) {
  constexpr int kPairs = kShape.element.bits() == 4 ? 4 : 2;
  constexpr std::int64_t kStep = 2 * kPairs * Ops::kLanes;
  constexpr std::int64_t kBytes = bytes_of(kShape.source);
  const std::int64_t end = count - count % kStep;
  const bool streams = place.streams && reinterpret_cast<std::uintptr_t>(codes) % sizeof(typename Ops::U) == 0;
  for (std::int64_t i = 0; i < end; i += kStep) {
    if (place.ahead != 0)
      for (std::int64_t line = 0; line < kStep * kBytes; line += 64)
        __builtin_prefetch(x + i * kBytes + place.ahead + line, 0, 2);
    typename Ops::U words[kPairs];
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p) {
      const std::int64_t at = i + 2 * p * Ops::kLanes;
      const auto operand = Ops::template spread<kShape.block>(operands, at);
      const auto reciprocal = Ops::template spread<kShape.block>(reciprocals, at);
      words[p] = pair_codes<Ops, kShape>(x + at * kBytes, operand, reciprocal);
    }
    typename Ops::U line;
    if constexpr (kPairs == 4)
      line = Ops::pack_nibbles(words[0], words[1], words[2], words[3]);
    else
      line = Ops::pack_bytes(words[0], words[1]);
    std::uint8_t* to = codes + i * kShape.element.bits() / 8;
    if (streams)
      Ops::stream(to, line);
    else
      store(to, line);
  }
  return end;
}

using EncodeLoop = std::int64_t (*)(const std::uint8_t*, std::int64_t, const float*, const float*, const Place&,
                                    std::uint8_t*);

template <class Ops, Element kElement, DType kSource, Quotient kQuotient, int kBlock>
EncodeLoop loop_for(const Encode& how) {
  const bool off = how.sign == SignOfZero::kMinusZeroOff;
  if constexpr (kElement != kE2M1 && kBlock == 0) {
    if (how.round_quotient)
      return off ? &encode_loop<Ops, Shape{kElement, kSource, kQuotient, true, true, kBlock}>
                 : &encode_loop<Ops, Shape{kElement, kSource, kQuotient, false, true, kBlock}>;
  }
  return off ? &encode_loop<Ops, Shape{kElement, kSource, kQuotient, true, false, kBlock}>
             : &encode_loop<Ops, Shape{kElement, kSource, kQuotient, false, false, kBlock}>;
}

template <class Ops, Element kElement, DType kSource>
EncodeLoop loop_of_source(const Encode& how, Quotient quotient, std::int64_t block) {
  constexpr Quotient kExact = kSource == DType::kF32 ? Quotient::kDivided : Quotient::kCorrected;
  const bool product = quotient == Quotient::kProduct;
  if constexpr (kElement == kE2M1) {
    if (block == 16 && !product) return loop_for<Ops, kElement, kSource, kExact, 16>(how);
    if (block == 32)
      return product ? loop_for<Ops, kElement, kSource, Quotient::kProduct, 32>(how)
                     : loop_for<Ops, kElement, kSource, kExact, 32>(how);
    return nullptr;
  } else {
    if (block == 32 && product && !how.round_quotient)
      return loop_for<Ops, kElement, kSource, Quotient::kProduct, 32>(how);
    return product ? loop_for<Ops, kElement, kSource, Quotient::kProduct, 0>(how)
                   : loop_for<Ops, kElement, kSource, kExact, 0>(how);
  }
}

template <class Ops, Element kElement>
EncodeLoop loop_of_element(const Encode& how, DType source, Quotient quotient, std::int64_t block) {
  if (source == DType::kBf16) return loop_of_source<Ops, kElement, DType::kBf16>(how, quotient, block);
  if (source == DType::kF16) return loop_of_source<Ops, kElement, DType::kF16>(how, quotient, block);
  return loop_of_source<Ops, kElement, DType::kF32>(how, quotient, block);
}

// The loop for this job, and whether it takes a run of blocks or one block at a time.
struct ChosenLoop {
  EncodeLoop loop;
  bool by_block;
};
template <class Ops>
ChosenLoop choose_loop(const EncodeFacts& facts, std::int64_t block) {
  const auto format = struct_at<Format>(facts.format);
  const auto how = struct_at<Encode>(facts.encode);
  const auto source = static_cast<DType>(facts.source);
  const Quotient quotient = quotient_of(format, how, source);
  if (format.element == kE2M1)
    return {how.round_quotient ? nullptr : loop_of_element<Ops, kE2M1>(how, source, quotient, block), false};
  const bool small = block == 32 && quotient == Quotient::kProduct && !how.round_quotient;
  if (format.element == kE4M3) return {loop_of_element<Ops, kE4M3>(how, source, quotient, block), !small};
  if (format.element == kE5M2) return {loop_of_element<Ops, kE5M2>(how, source, quotient, block), !small};
  return {nullptr, false};
}

template <class Ops>
void encode_general(const EncodeFacts& facts, const Row& row, const Blocks& blocks, const Place& place,
                    std::int64_t begin, std::int64_t end);

// From `head` on, where a block begins. Returns how many elements it took.
template <class Ops>
std::int64_t encode_fast(const EncodeFacts& facts, const Row& row, const Blocks& blocks, const Place& place,
                         std::int64_t head) {
  const auto format = struct_at<Format>(facts.format);
  const std::int64_t bits = format.element.bits(), bytes = bytes_of(static_cast<DType>(facts.source));
  const ChosenLoop chosen = choose_loop<Ops>(facts, row.block);
  if (chosen.loop == nullptr) return 0;
  const std::int64_t skipped = head > 0 ? 1 : 0;
  const float* operands = blocks.operands + skipped;
  const float* reciprocals = blocks.reciprocals + skipped;
  const auto* x = static_cast<const std::uint8_t*>(row.x);
  if (!chosen.by_block)
    return chosen.loop(x + head * bytes, row.count - head, operands, reciprocals, place, place.codes + head * bits / 8);
  std::int64_t at = head;
  for (; at < row.count; ++operands, ++reciprocals) {
    const std::int64_t n = row.block < row.count - at ? row.block : row.count - at;
    const std::int64_t done = chosen.loop(x + at * bytes, n, operands, reciprocals, place, place.codes + at * bits / 8);
    if (done < n) encode_general<Ops>(facts, row, blocks, place, at + done, at + n);
    at += n;
  }
  return at - head;
}

}  // namespace tessera::cpu
