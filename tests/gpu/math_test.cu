#include "tests/gpu/math_test.h"

namespace tessera::test {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    math_kernel(int which, std::uint32_t stride, std::int64_t count, float* values) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) values[i] = evaluate_math(which, float_of<float>(static_cast<std::uint32_t>(i) * stride));
}

}  // namespace

void launch_math(int which, std::uint32_t stride, std::int64_t count, float* values, void* stream) {
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  math_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(which, stride, count, values);
}

}  // namespace tessera::test
