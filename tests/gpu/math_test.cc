// Law 11 for elementwise functions: the GPU's bits are the CPU's, over floats of every exponent and sign, NaN among
// them.
#include "tests/gpu/math_test.h"

#include "tests/gpu/cases.h"

namespace tessera::test {
namespace {

class Math : public Gpu {};

TEST_F(Math, GivesTheBitsOfTheCpu) {
  constexpr std::uint32_t kStride = 1021;  // a prime: every pattern of low bits is met
  constexpr std::int64_t kCount = (std::int64_t{1} << 32) / kStride;
  Tally tally("elementwise functions");
  Tensor expected(DType::kF32, {kCount});
  const Tensor there(DType::kF32, {kCount}, gpu().device());
  for (int which = 0; which < static_cast<int>(std::size(kMathNames)); ++which) {
    launch_math(which, kStride, kCount, there.as<float>(), gpu().native());
    for (std::int64_t i = 0; i < kCount; ++i)
      expected.as<float>()[i] = evaluate_math(which, float_of<float>(static_cast<std::uint32_t>(i) * kStride));
    tally.add(difference(expected, copy(gpu(), there, kCpu), "values"), kMathNames[which]);
  }
}

}  // namespace
}  // namespace tessera::test
