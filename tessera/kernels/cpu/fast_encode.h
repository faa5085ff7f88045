// The fast loops: nearest codes of ordinary numbers (prepare() says which care a block needs), 2 * kLanes elements at a
// time, the even ones in one vector and the odd ones in another, so that neighbours meet in one word when they are
// packed.
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

// What a block needs. Less care is faster.
inline constexpr std::uint8_t kSwiftCare = 0;    // codes of x * reciprocal are those of x / operand
inline constexpr std::uint8_t kExactCare = 1;    // quotients must be exact
inline constexpr std::uint8_t kGeneralCare = 2;  // the general loop

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

template <class Ops, Shape kShape, Quotient kQuotient>
typename Ops::F quotient_lanes(typename Ops::F x, typename Ops::F operand, typename Ops::F reciprocal) {
  using F = typename Ops::F;
  F q;
  if constexpr (kQuotient == Quotient::kDivided) {
    q = x / operand;
  } else {
    q = x * reciprocal;
    if constexpr (kQuotient == Quotient::kCorrected)
      q = Ops::fused(Ops::fused_minus(q, operand, x), reciprocal, q);  // q + (x - q * operand) * reciprocal
  }
  if constexpr (kShape.round_quotient) q = round_to(kShape.source, q);
  return q;
}

// From which quotient on the nearest code would be one more than the largest, less some room for roundings.
constexpr float beyond(Element element) {
  const std::uint32_t top = max_code(element);
  return (decode(element, top) * 1.5f - decode(element, top - 1) * 0.5f) * 0.9999f;
}

// Adding 2^(23 - mantissa bits) times a number's own power of two makes the sum's unit the spacing of codes there: its
// low byte counts that spacing, ties to even. `base` brings the count to the code less the bits of its exponent, and is
// even. Under the normal range the spacing stays that of the smallest normal number.
template <Element kElement>
struct Magic {
  static constexpr auto kMantissa = static_cast<std::uint32_t>(kElement.mantissa_bits);
  static constexpr std::uint32_t kFirst = static_cast<std::uint32_t>(128 - kElement.bias);  // exponent of 2^(1 - bias)
  static constexpr std::uint32_t kLast = std::bit_cast<std::uint32_t>(max_finite(kElement)) >> 23;
  static constexpr std::uint32_t kBase = (0u - (kFirst << kMantissa)) & 0xffu;
  static_assert(kBase % 2 == 0);
  // What to add to a number with this exponent, so that the low byte of the sum is its code.
  static constexpr std::uint32_t of(std::uint32_t exponent) {
    const std::uint32_t e = exponent < kFirst ? kFirst : exponent;
    return ((e + 23u - kMantissa) << 23) + ((kBase + (e << kMantissa)) & 0xffu);
  }
};

// Magic by the low bits of the exponent. Entry i is for the exponent in (kLast - kSize, kLast] that ends in i.
template <Element kElement, std::uint32_t kSize>
struct MagicTable {
  static constexpr std::uint32_t kLowest = Magic<kElement>::kLast - kSize + 1;
  alignas(64) std::uint32_t entries[kSize] = {};
  constexpr MagicTable() {
    for (std::uint32_t e = kLowest; e <= Magic<kElement>::kLast; ++e) entries[e % kSize] = Magic<kElement>::of(e);
  }
  // Numbers of the lowest exponent and under are code 0.
  static constexpr bool kReaches =
      kLowest < Magic<kElement>::kFirst - Magic<kElement>::kMantissa - 1 && kLowest < Magic<kElement>::kLast;
};

// The code of a magnitude under beyond() in the low byte of each word; what stands above is not looked at.
template <class Ops, Element kElement>
typename Ops::U magnitude_code(typename Ops::F a) {
  using F = typename Ops::F;
  using M = Magic<kElement>;
  if constexpr (MagicTable<kElement, Ops::kLanes>::kReaches) {
    static constexpr MagicTable<kElement, Ops::kLanes> kTable;
    const F some = Ops::larger(a, all<F>(pow2(static_cast<int>(kTable.kLowest) - 127)));
    return word_of(some + Ops::choose(load<F>(kTable.entries), word_of(some) >> 23));
  } else if constexpr (Ops::kChoosesOfTwo && MagicTable<kElement, 2 * Ops::kLanes>::kReaches) {
    static constexpr MagicTable<kElement, 2 * Ops::kLanes> kTable;
    const F some = Ops::larger(a, all<F>(pow2(static_cast<int>(kTable.kLowest) - 127)));
    const F magic =
        Ops::choose_of_two(load<F>(kTable.entries), load<F>(kTable.entries + Ops::kLanes), word_of(some) >> 23);
    return word_of(some + magic);
  } else {
    const Word<F> power = Ops::max_words(word_of(a) & 0x7f800000u, all_words<F>(M::kFirst << 23));
    const Word<F> magic = power + (((23u - M::kMantissa) << 23) + M::kBase);
    return word_of(a + float_of<F>(magic)) + (power >> (23u - M::kMantissa));
  }
}

// One pair's codes with their signs, each alone in a word of 16 bits.
template <class Ops, Shape kShape, Quotient kQuotient>
typename Ops::U pair_codes(const std::uint8_t* x, typename Ops::F operand, typename Ops::F reciprocal) {
  using F = typename Ops::F;
  Pair<Ops> p = load_pair<Ops, kShape.source>(x);
  const F even = quotient_lanes<Ops, kShape, kQuotient>(p.even, operand, reciprocal);
  const F odd = quotient_lanes<Ops, kShape, kQuotient>(p.odd, operand, reciprocal);
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

template <class Ops, Shape kShape>
struct Step {
  static constexpr int kPairs = kShape.element.bits() == 4 ? 4 : 2;
  static constexpr std::int64_t kElements = 2 * kPairs * Ops::kLanes;
  static constexpr std::int64_t kBlocks = kShape.block == 0 ? 1 : kElements / kShape.block;
};

// One step: a line of codes from x and the operands of its blocks.
template <class Ops, Shape kShape, Quotient kQuotient>
typename Ops::U encode_step(const std::uint8_t* x, const float* operands, const float* reciprocals) {
  using S = Step<Ops, kShape>;
  typename Ops::U words[S::kPairs];
#pragma GCC unroll 4
  for (int p = 0; p < S::kPairs; ++p) {
    const std::int64_t at = 2 * p * Ops::kLanes;
    const auto operand = Ops::template spread<kShape.block>(operands, at);
    const auto reciprocal = Ops::template spread<kShape.block>(reciprocals, at);
    words[p] = pair_codes<Ops, kShape, kQuotient>(x + at * bytes_of(kShape.source), operand, reciprocal);
  }
  if constexpr (S::kPairs == 4)
    return Ops::pack_nibbles(words[0], words[1], words[2], words[3]);
  else
    return Ops::pack_bytes(words[0], words[1]);
}

template <class Ops>
void encode_general(const EncodeFacts& facts, const Row& row, const Blocks& blocks, const Place& place,
                    std::int64_t begin, std::int64_t end);

// What every loop is given.
struct EncodeCall {
  const EncodeFacts& facts;
  const Row& row;
  const Blocks& blocks;
  const Place& place;
};

// Elements [begin, end) of the row from the start of block `block` on, as far as whole steps go. Returns where it
// stopped.
template <class Ops, Shape kShape>
std::int64_t encode_loop(const EncodeCall& call, std::int64_t block, std::int64_t begin, std::int64_t end) {
  using S = Step<Ops, kShape>;
  constexpr std::int64_t kBytes = bytes_of(kShape.source), kBits = kShape.element.bits();
  constexpr Quotient kSwift =
      kShape.quotient == Quotient::kCorrected && !kShape.round_quotient ? Quotient::kProduct : kShape.quotient;
  const auto* x = static_cast<const std::uint8_t*>(call.row.x);
  const bool streams =
      call.place.streams &&
      reinterpret_cast<std::uintptr_t>(call.place.codes + begin * kBits / 8) % sizeof(typename Ops::U) == 0;
  std::int64_t at = begin;
  for (std::int64_t b = block; at + S::kElements <= end; at += S::kElements, b += kShape.block == 0 ? 0 : S::kBlocks) {
    if (call.place.ahead != 0)
      for (std::int64_t line = 0; line < S::kElements * kBytes; line += 64)
        __builtin_prefetch(x + at * kBytes + call.place.ahead + line, 0, 2);
    std::uint64_t care = 0;
    __builtin_memcpy(&care, call.blocks.care + b, S::kBlocks);
    typename Ops::U line;
    if (care == 0) [[likely]] {
      line = encode_step<Ops, kShape, kSwift>(x + at * kBytes, call.blocks.operands + b, call.blocks.reciprocals + b);
    } else if (kSwift != kShape.quotient && (care & (kGeneralCare * 0x0101010101010101u)) == 0) {
      line = encode_step<Ops, kShape, kShape.quotient>(x + at * kBytes, call.blocks.operands + b,
                                                       call.blocks.reciprocals + b);
    } else {
      encode_general<Ops>(call.facts, call.row, call.blocks, call.place, at, at + S::kElements);
      continue;
    }
    std::uint8_t* to = call.place.codes + at * kBits / 8;
    if (streams)
      Ops::stream(to, line);
    else
      store(to, line);
  }
  return at;
}

using EncodeLoop = std::int64_t (*)(const EncodeCall&, std::int64_t block, std::int64_t begin, std::int64_t end);

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

// From `head` on, where block `block` begins. Returns where it stopped.
template <class Ops>
std::int64_t encode_fast(const EncodeCall& call, std::int64_t block, std::int64_t head) {
  const ChosenLoop chosen = choose_loop<Ops>(call.facts, call.row.block);
  if (chosen.loop == nullptr) return head;
  if (!chosen.by_block) return chosen.loop(call, block, head, call.row.count);
  std::int64_t at = head;
  for (; at < call.row.count; ++block) {
    const std::int64_t end = at + call.row.block < call.row.count ? at + call.row.block : call.row.count;
    at = chosen.loop(call, block, at, end);
    if (at < end) encode_general<Ops>(call.facts, call.row, call.blocks, call.place, at, end);
    at = end;
  }
  return at;
}

}  // namespace tessera::cpu
