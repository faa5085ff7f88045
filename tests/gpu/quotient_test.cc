// The quotients of the one-pass kernels, against IEEE division, for every pair of mantissas.
#include "tests/gpu/quotient.h"

#include <cstring>

#include "tessera/base/error.h"
#include "tests/gpu/cases.h"

namespace tessera::test {
namespace {

class Quotients : public Gpu {};

// Exponents from where every code of E5M2 is zero to past the 4096 at which a block counts as tame.
TEST_F(Quotients, GiveTheCodesOfIeeeDivisionForEveryPairOfMantissas) {
  Tensor host(DType::kU8, {sizeof(QuotientCounts)});
  std::memset(host.data(), 0, host.bytes());
  const Tensor there = copy(gpu(), host, gpu().device());
  for (int exponent = -20; exponent <= 13; ++exponent)
    launch_compare_quotients(exponent, there.as<QuotientCounts>(), gpu().native());
  const Tensor back = copy(gpu(), there, kCpu);
  QuotientCounts counts{};
  std::memcpy(&counts, back.data(), sizeof counts);
  EXPECT_EQ(counts.compared, 34ull << 30);
  EXPECT_EQ(counts.bf16, 0u);
  EXPECT_EQ(counts.e2m1, 0u);
  EXPECT_EQ(counts.e2m1_toward_zero, 0u);
  EXPECT_EQ(counts.e4m3, 0u);
  EXPECT_EQ(counts.e5m2, 0u);
  fmt::print("quotients: {} compared; f32 differs in {}, x * (1 / d) in {}, which changes {} E2M1 codes\n",
             counts.compared, counts.f32, counts.f32_of_reciprocal, counts.e2m1_of_reciprocal);
  EXPECT_GT(counts.e2m1_of_reciprocal, 0u) << "one multiplication would do: this test shows nothing";
}

}  // namespace
}  // namespace tessera::test
