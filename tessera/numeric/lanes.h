// Lanes: the arithmetic of the writers, written once for one number and for a vector of them.
//
// A rule templated on F runs with F = float in the reference and on a GPU, and with a vector of floats in the CPU
// tiers: comparison gives a mask, `mask ? a : b` selects, std::bit_cast reinterprets. Every operation is one IEEE
// operation per lane, so all of them give the same bits.
#pragma once
#include <bit>
#include <cstdint>

#include "tessera/numeric/dtype.h"
#include "tessera/numeric/element.h"

namespace tessera {

// The integers that go with a lane type F: Word (unsigned) and Int (signed), of the same width and count.
template <class F>
struct LaneTraits;
template <>
struct LaneTraits<float> {
  using Word = std::uint32_t;
  using Int = std::int32_t;
  static constexpr int kCount = 1;
};
template <class F>
using Word = typename LaneTraits<F>::Word;
template <class F>
using Int = typename LaneTraits<F>::Int;

template <class F>
constexpr Word<F> word_of(F x) {
  return std::bit_cast<Word<F>>(x);
}
template <class F>
constexpr F float_of(Word<F> w) {
  return std::bit_cast<F>(w);
}
template <class F>
constexpr F magnitude_of(F x) {
  return float_of<F>(word_of(x) & 0x7fffffffu);
}
// All lanes one value; written so that F = float and vectors take the same line.
template <class F>
constexpr F all(float x) {
  return F{} + x;
}
template <class F>
constexpr Word<F> all_words(std::uint32_t x) {
  return Word<F>{} + x;
}

// A mask of lanes: bool for float, a vector of 0 and -1 for vectors.
template <class F>
constexpr auto is_nan_lane(F x) {
  return (word_of(x) & 0x7fffffffu) > all_words<F>(0x7f800000u);
}

// x rounded to `type` (kF32, kBf16 or kF16), nearest, ties to even, as a float. NaN stays NaN; overflow gives infinity.
template <class F>
constexpr F round_to(DType type, F x) {
  if (type == DType::kF32) return x;
  const Word<F> bits = word_of(x), sign = bits & 0x80000000u, a = bits & 0x7fffffffu;
  if (type == DType::kBf16) {
    const Word<F> rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
    return is_nan_lane(x) ? x : float_of<F>(rounded);
  }
  const Word<F> normal = (a + 0xfffu + ((a >> 13) & 1u)) & 0xffffe000u;       // 10 bits of mantissa
  const F small = (float_of<F>(a) + 0.5f) - 0.5f;                             // multiples of 2^-24: f16's subnormals
  Word<F> rounded = a < all_words<F>(0x38800000u) ? word_of(small) : normal;  // 2^-14
  rounded = normal >= all_words<F>(0x47800000u) ? all_words<F>(0x7f800000u) : rounded;  // 65536
  return is_nan_lane(x) ? x : float_of<F>(rounded | sign);
}

// The 16 bits of a float that round_to(kBf16 or kF16) gave; a NaN becomes the quiet one of its sign.
constexpr std::uint16_t bits16(DType type, float rounded) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(rounded);
  const std::uint32_t a = bits & 0x7fffffffu, sign = bits >> 31 << 15;
  if (a > 0x7f800000u) return static_cast<std::uint16_t>(sign | (type == DType::kBf16 ? 0x7fc0u : 0x7e00u));
  if (type == DType::kBf16) return static_cast<std::uint16_t>(bits >> 16);
  if (a == 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (a >= 0x38800000u) return static_cast<std::uint16_t>(sign | ((a - 0x38000000u) >> 13));
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::bit_cast<float>(a) * 0x1p24f));
}

// min and max of numbers that are not NaN.
template <class F>
constexpr F lane_min(F a, F b) {
  return b < a ? b : a;
}
template <class F>
constexpr F lane_max(F a, F b) {
  return a < b ? b : a;
}

// The exponent of the power of two at or under a: floor(log2 a), exact. a > 0 and finite, subnormals included.
template <class F>
constexpr Int<F> floor_log2(F a) {
  const auto tiny = a < all<F>(0x1p-126f);
  const F scaled = tiny ? a * all<F>(0x1p64f) : a;
  const Int<F> e = std::bit_cast<Int<F>>(word_of(scaled) >> 23) - 127;
  return tiny ? e - 64 : e;
}

// 2^e as a float lane; e in -149 .. 127.
template <class F>
constexpr F pow2_lane(Int<F> e) {
  const auto low = e < -126;
  const Int<F> shifted = low ? e + 64 : e;
  const F p = float_of<F>(std::bit_cast<Word<F>>(shifted + 127) << 23);
  return low ? p * all<F>(0x1p-64f) : p;
}

// log2 of 2^k (1 + d) rounds to k in `type` as long as d is at most this; m is the largest integer under the magnitudes
// of log2 there. With 2^j <= m they have a unit u = 2^(j - bits of mantissa), and d is 2^(u / 2) - 1, which squaring
// doubles.
template <class F>
constexpr F log2_reach(DType type, Int<F> m) {
  F reach = all<F>(type == DType::kF32 ? 0x1.62e430p-25f : type == DType::kF16 ? 0x1.62f390p-12f : 0x1.635f4cp-9f);
  for (int power = 2; power <= 128; power *= 2) reach = m >= power ? reach * (reach + 2.f) : reach;
  return m < 1 ? F{} : reach;
}
// floor(log2(a)) and ceil(log2(a)) as a library computes them in `type`: log2 is rounded first, and may reach the next
// integer. a > 0, finite and a number of `type`.
template <class F>
constexpr Int<F> floor_log2_in(DType type, F a) {
  const Int<F> k = floor_log2(a), next = k + 1;
  const F below =
      all<F>(1.f) - a / pow2_lane<F>(k) * all<F>(0.5f);  // of 2^next; the numbers there have |log2| under it
  const F reach = log2_reach<F>(type, next < 1 ? Int<F>{} - next : next - 1);
  return below * (reach + 1.f) <= reach ? next : k;
}
template <class F>
constexpr Int<F> ceil_log2_in(DType type, F a) {
  const Int<F> k = floor_log2(a);
  const F above = a / pow2_lane<F>(k) - all<F>(1.f);
  return above > log2_reach<F>(type, k < 0 ? -k - 1 : k) ? k + 1 : k;
}
// The same in f32: a hair above 2^k still gives k (spec/checkpoint-dialects.md, section 2, trap 3).
template <class F>
constexpr Int<F> ceil_log2_f32(F a) {
  return ceil_log2_in(DType::kF32, a);
}

// The value of an E8M0 byte; 255 is NaN.
template <class F>
constexpr F decode_e8m0(Word<F> byte) {
  const Word<F> bits = byte == all_words<F>(0u)     ? all_words<F>(0x00400000u)
                       : byte == all_words<F>(255u) ? all_words<F>(0x7fc00000u)
                                                    : byte << 23;
  return float_of<F>(bits);
}

// The value of a code of a small element with a mantissa, without its sign bit. Bits of the code become exponent and
// mantissa with another bias; beside 2^23 a subnormal code is a number of units.
template <class F>
constexpr F decode_magnitude(Element element, Word<F> bits) {
  const auto mantissa = static_cast<std::uint32_t>(element.mantissa_bits);
  const Word<F> code = bits & ((1u << static_cast<std::uint32_t>(element.exponent_bits + element.mantissa_bits)) - 1u);
  const F normal = float_of<F>((code << (23u - mantissa)) + (static_cast<std::uint32_t>(127 - element.bias) << 23));
  const F units = float_of<F>(code | 0x4b000000u) - all<F>(0x1p23f);
  const F small = units * all<F>(pow2(1 - element.bias - element.mantissa_bits));
  F value = code < all_words<F>(1u << mantissa) ? small : normal;
  if (element.specials == Specials::kNanOnly) value = code == all_words<F>(nan_code(element)) ? all<F>(kNaN) : value;
  if (element.specials == Specials::kIeee) {
    const Word<F> infinity = all_words<F>(max_code(element) + 1u);
    value = code == infinity ? all<F>(kInfinity) : value;
    value = code > infinity ? all<F>(kNaN) : value;
  }
  return value;
}

// The code of |a| in a small element with a mantissa, nearest, ties to even, saturating; `a` is a magnitude and not
// NaN. Equal to encode() for every such a (tests/laws/codec_test.cc sweeps it).
template <class F>
constexpr Word<F> encode_magnitude(Element element, F a) {
  const std::uint32_t shift = 23u - static_cast<std::uint32_t>(element.mantissa_bits);
  const std::uint32_t rebias = static_cast<std::uint32_t>(127 - element.bias) << element.mantissa_bits;
  const F smallest_normal = all<F>(pow2(1 - element.bias));
  // Adding 2^(23 + e) makes the sum's unit the spacing 2^e of the subnormal codes: the low bits are the code.
  const F magic = all<F>(pow2(23 + 1 - element.bias - element.mantissa_bits));
  const Word<F> bits = word_of(a);
  const Word<F> normal = ((bits + ((1u << (shift - 1)) - 1u) + ((bits >> shift) & 1u)) >> shift) - rebias;
  const Word<F> small = word_of(a + magic) & ((2u << element.mantissa_bits) - 1u);
  const Word<F> code = a < smallest_normal ? small : normal;
  return a >= all<F>(max_finite(element)) ? all_words<F>(max_code(element)) : code;
}

// The same with stochastic rounding: `random` is uniform in 32 bits; of its low bits as many as the rounding drops are
// added below the cut and the sum is truncated. A magnitude that is a code keeps it.
template <class F>
constexpr Word<F> encode_magnitude_stochastic(Element element, F a, Word<F> random) {
  const std::uint32_t shift = 23u - static_cast<std::uint32_t>(element.mantissa_bits);
  const std::uint32_t rebias = static_cast<std::uint32_t>(127 - element.bias) << element.mantissa_bits;
  const F smallest_normal = all<F>(pow2(1 - element.bias));
  const auto small = a < smallest_normal;
  const Word<F> bits = word_of(small ? a + smallest_normal : a);
  const Word<F> sum = (bits + (random & ((1u << shift) - 1u))) >> shift;
  const Word<F> offset = small ? all_words<F>(rebias + (1u << element.mantissa_bits)) : all_words<F>(rebias);
  return a >= all<F>(max_finite(element)) ? all_words<F>(max_code(element)) : sum - offset;
}

}  // namespace tessera
