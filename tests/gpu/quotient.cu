#include "tessera/kernels/cuda/sm90_blocks.cuh"
#include "tests/gpu/quotient.h"

namespace tessera::test {
namespace {

using namespace tessera::cuda;

constexpr int kThreads = 256;
constexpr std::uint32_t kMantissas = 1u << 23;

template <Kind kKind>
__device__ inline std::uint32_t fp8_of(float q) {
  return fp8_pair<kKind>(q, 0.f) & 0xffu;
}

// One thread a divisor in [1, 2), against the 128 bf16 of one binade.
__global__ void __launch_bounds__(kThreads) compare_kernel(int exponent, QuotientCounts* counts) {
  const std::uint32_t mantissa = blockIdx.x * kThreads + threadIdx.x;
  const float d = __uint_as_float(0x3f800000u | mantissa);
  QuotientCounts mine{};
  for (std::uint32_t m = 0; m < 128; ++m) {
    const float x = __uint_as_float((static_cast<std::uint32_t>(127 + exponent) << 23) | m << 16);
    const Divisor by = divisor_of<Quotient::kDivide>(d, x, kEndOfCodes);
    const float exact = __fdiv_rn(x, d), fast = quotient<Quotient::kDivide>(x, by), rough = x * by.high;
    ++mine.compared;
    mine.f32 += exact != fast;
    mine.f32_of_reciprocal += exact != rough;
    mine.bf16 += bf16_pair(exact, 0) != bf16_pair(fast, 0);
    const std::uint32_t e2m1 = encode_magnitude<float>(kE2M1, exact);
    mine.e2m1 += e2m1 != (by.is_tame ? min(e2m1_unsaturated(fast) & 0xffffu, 7u) : e2m1);
    mine.e2m1_of_reciprocal += e2m1 != min(e2m1_unsaturated(rough) & 0xffffu, 7u);
    mine.e4m3 += encode_magnitude<float>(kE4M3, exact) != fp8_of<Kind::kE4M3>(fast);
    mine.e5m2 += encode_magnitude<float>(kE5M2, exact) != fp8_of<Kind::kE5M2>(fast);
  }
  if (mantissa == 0) {  // a power of two: ties go toward zero where the factor says so
    for (std::uint32_t m = 0; m < 128; ++m) {
      const float x = __uint_as_float((static_cast<std::uint32_t>(127 + exponent) << 23) | m << 16);
      const Encode how{.ties = Ties::kTowardZero, .sign = SignOfZero::kKept};
      const std::uint32_t less = min(e2m1_unsaturated(x * (1.f - 0x1p-16f)) & 0xffffu, 7u);
      mine.e2m1_toward_zero += less != code_of(kE2M1, how, DType::kBf16, x, 1.f, 0);
    }
  }
  atomicAdd(&counts->compared, mine.compared);
  if (mine.f32 != 0) atomicAdd(&counts->f32, mine.f32);
  if (mine.f32_of_reciprocal != 0) atomicAdd(&counts->f32_of_reciprocal, mine.f32_of_reciprocal);
  if (mine.bf16 != 0) atomicAdd(&counts->bf16, mine.bf16);
  if (mine.e2m1 != 0) atomicAdd(&counts->e2m1, mine.e2m1);
  if (mine.e2m1_of_reciprocal != 0) atomicAdd(&counts->e2m1_of_reciprocal, mine.e2m1_of_reciprocal);
  if (mine.e2m1_toward_zero != 0) atomicAdd(&counts->e2m1_toward_zero, mine.e2m1_toward_zero);
  if (mine.e4m3 != 0) atomicAdd(&counts->e4m3, mine.e4m3);
  if (mine.e5m2 != 0) atomicAdd(&counts->e5m2, mine.e5m2);
}

}  // namespace

void launch_compare_quotients(int exponent, QuotientCounts* counts, void* stream) {
  compare_kernel<<<kMantissas / kThreads, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(exponent, counts);
}

}  // namespace tessera::test
