// Sixteen bf16 numbers of one block become codes, in registers.
//
// Quotients: a code depends on f32(x / d) only through its comparison with a few boundaries, and with r + s = 1 / d to
// 46 bits, fma(x, r, x * s) is on the same side of each of them for every bf16 x and every f32 d: all 2^7 x 2^23
// mantissas at every distance of exponents were compared with IEEE division (tests/gpu/quotient_test.cu). Where
// exponents could leave the range in which that holds (Divisor::is_tame), the block takes real divisions.
#pragma once
#include "tessera/kernels/cuda/element.cuh"

namespace tessera::cuda {

// Two bf16 in a word, the first in its low half.
__device__ inline float low_float(std::uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ inline float high_float(std::uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

// -0 becomes +0; nothing else changes.
__device__ inline std::uint32_t without_minus_zero(std::uint32_t pair) {
  std::uint32_t result;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(pair), "r"(0x3f803f80u), "r"(0u));
  return result;
}
// 0xffff in each half that is below zero (or, for kSetOnZero, is not above it).
template <SignOfZero kSign>
__device__ inline std::uint32_t minus_mask(std::uint32_t pair) {
  std::uint32_t mask;
  if constexpr (kSign == SignOfZero::kSetOnZero)
    asm("set.le.u32.bf16x2 %0, %1, %2;" : "=r"(mask) : "r"(pair), "r"(0u));
  else
    asm("set.lt.u32.bf16x2 %0, %1, %2;" : "=r"(mask) : "r"(pair), "r"(0u));
  return mask;
}
__device__ inline std::uint32_t bf16_pair(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
template <Kind kKind>
__device__ inline std::uint32_t fp8_pair(float low, float high) {
  std::uint16_t pair;
  if constexpr (kKind == Kind::kE4M3)
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  else
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}

enum class Quotient { kDivide, kPower, kMultiply };  // kPower: the divisor is a power of two, its reciprocal exact

struct Divisor {
  float high, low;  // high + low = 1 / operand
  bool is_tame;
};

// Tame: quotients neither overflow nor reach `end`, nor do they vanish, which would change a sign. A maximum that is
// not finite is not tame.
template <Quotient kHow>
__device__ inline Divisor divisor_of(float operand, float amax, float end) {
  const std::uint32_t bits = __float_as_uint(operand);
  Divisor d{};
  if constexpr (kHow == Quotient::kMultiply) {
    d.high = operand;
    d.is_tame = amax * operand < end;
  } else if constexpr (kHow == Quotient::kPower) {
    d.high = __uint_as_float(bits == 0x00400000u ? 254u << 23 : (254u << 23) - bits);
    // From 2^-127 up: under it stand zero, by which a writer may divide, and powers whose inverse no f32 holds.
    d.is_tame = bits - 0x00400000u < ((127u + 15u) << 23) - 0x00400000u && amax * d.high < end;
  } else {
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(d.high) : "f"(operand));
    const float rest = __fmaf_rn(-operand, d.high, 1.f);
    const float step = rest * d.high;
    d.low = __fmaf_rn(step, rest, step);
    constexpr std::uint32_t kLeast = (127u - 100u) << 23, kEnd = (127u + 15u) << 23;
    d.is_tame = bits - kLeast < kEnd - kLeast && amax * d.high < end;
  }
  return d;
}

// Where d.low is negative, that of -0 is +0.
template <Quotient kHow>
__device__ inline float quotient(float x, const Divisor& d) {
  if constexpr (kHow == Quotient::kDivide) return __fmaf_rn(x, d.high, x * d.low);
  return x * d.high;
}

// The nearest E2M1 code of a magnitude below 7, ties to even, is the least of RN(2a), RN(a) + 2 and RN(a / 2) + 4; from
// 7 up to 4096 the caller takes the lesser of that and 7. Adding 1.5 * 2^23 rounds to an integer in the low bits.
constexpr float kEndOfE2M1 = 7.f, kEndOfCodes = 4096.f;
__device__ inline std::uint32_t e2m1_unsaturated(float a) {
  constexpr float kMagic = 0x1.8p23f;
  const std::uint32_t fine = __float_as_uint(__fmaf_rn(a, 2.f, kMagic));
  const std::uint32_t middle = __float_as_uint(a + (kMagic + 2.f));
  const std::uint32_t coarse = __float_as_uint(__fmaf_rn(a, .5f, kMagic + 4.f));
  return __vimin3_u32(fine, middle, coarse);
}

// The codes of 8 numbers (4 pairs, 4 pairs of their magnitudes), the first in the low nibble.
template <Quotient kHow, SignOfZero kSign, bool kSaturate>
__device__ inline std::uint32_t e2m1_word(const std::uint32_t* pairs, const std::uint32_t* magnitudes,
                                          const Divisor& d) {
  std::uint32_t n[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t low = e2m1_unsaturated(quotient<kHow>(low_float(magnitudes[i]), d));
    const std::uint32_t high = e2m1_unsaturated(quotient<kHow>(high_float(magnitudes[i]), d));
    n[i] = __byte_perm(low, high, 0x5410);
    if constexpr (kSaturate) n[i] = __vminu2(n[i], 0x00070007u);
    if constexpr (kSign == SignOfZero::kKept)
      n[i] |= (pairs[i] >> 12) & 0x00080008u;
    else
      n[i] |= minus_mask<kSign>(pairs[i]) & 0x00080008u;
  }
  const std::uint32_t a = n[0] + (n[1] << 8), b = n[2] + (n[3] << 8);  // bytes: codes 0 2 1 3 and 4 6 5 7
  return __byte_perm(a, b, 0x5410) + (__byte_perm(a, b, 0x7632) << 4);
}

// The codes of 4 numbers (2 pairs), the first in the low byte.
template <Kind kKind, Quotient kHow, SignOfZero kSign, bool kRound>
__device__ inline std::uint32_t fp8_word(const std::uint32_t* pairs, const Divisor& d) {
  std::uint32_t n[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    std::uint32_t pair = pairs[i];
    if constexpr (kSign == SignOfZero::kMinusZeroOff && !kRound) pair = without_minus_zero(pair);
    float low = quotient<kHow>(low_float(pair), d), high = quotient<kHow>(high_float(pair), d);
    if constexpr (kRound) {
      std::uint32_t rounded = bf16_pair(low, high);
      if constexpr (kSign == SignOfZero::kMinusZeroOff) rounded = without_minus_zero(rounded);
      low = low_float(rounded);
      high = high_float(rounded);
    }
    n[i] = fp8_pair<kKind>(low, high);
  }
  const std::uint32_t word = __byte_perm(n[0], n[1], 0x5410);
  if constexpr (kSign == SignOfZero::kKept && kHow == Quotient::kDivide)
    return word | (__byte_perm(pairs[0], pairs[1], 0x7531) & 0x80808080u);
  return word;
}

}  // namespace tessera::cuda
