// Law: the fast loops' quotient is the division. q0 = x r with r = 1/d rounded, then q = q0 + (x - q0 d) r, each line
// rounded once: equal to x / d rounded, for every significand of d and every significand of x that bf16 has, and for
// those of f16 at every fifth d. Signs and exponents scale all terms alike (resolve_lanes.h, prepare).
#include <gtest/gtest.h>

#include "tessera/tensor/device.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace tessera {
namespace {

// Pairs that differ, of x = X / 2^(bits - 1), X in [2^(bits - 1), 2^bits), and every `stride`th vector of d in [1, 2).
__attribute__((target("avx2,fma"))) std::int64_t differing_pairs(int bits, std::int32_t stride) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  std::int64_t differing = 0;
  for (std::int32_t significand = 0; significand < 1 << 23; significand += 8 * stride) {
    const __m256i d_bits = _mm256_add_epi32(_mm256_set1_epi32((127 << 23) + significand), lanes);
    const __m256 d = _mm256_castsi256_ps(d_bits), r = _mm256_div_ps(_mm256_set1_ps(1.f), d);
    for (int x_bits = 1 << (bits - 1); x_bits < 1 << bits; ++x_bits) {
      const __m256 x = _mm256_set1_ps(static_cast<float>(x_bits) / static_cast<float>(1 << (bits - 1)));
      const __m256 q0 = _mm256_mul_ps(x, r);
      const __m256 q = _mm256_fmadd_ps(_mm256_fnmadd_ps(q0, d, x), r, q0);
      const __m256 wrong = _mm256_cmp_ps(q, _mm256_div_ps(x, d), _CMP_NEQ_UQ);
      differing += __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps(wrong)));
    }
  }
  return differing;
}

TEST(Quotient, CorrectedReciprocalIsTheDivision) {
  if (best_cpu_tier() < CpuTier::kAvx2) GTEST_SKIP() << "no fused multiply-add here";
  EXPECT_EQ(differing_pairs(8, 1), 0);
  EXPECT_EQ(differing_pairs(11, 5), 0);
}

}  // namespace
}  // namespace tessera
#endif
