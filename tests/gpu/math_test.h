// Launches of math_test.cu.
#pragma once
#include <cstdint>

#include "tessera/numeric/math.h"

namespace tessera::test {

inline constexpr const char* kMathNames[] = {"exp", "exp2", "log",       "tanh", "sigmoid", "silu", "softplus",
                                             "erf", "gelu", "gelu_tanh", "sqrt", "rsqrt",   "sin",  "cos"};

// The function kMathNames[which] of x.
constexpr float evaluate_math(int which, float x) {
  switch (which) {
    case 0:
      return math::exp(x);
    case 1:
      return math::exp2(x);
    case 2:
      return math::log(x);
    case 3:
      return math::tanh(x);
    case 4:
      return math::sigmoid(x);
    case 5:
      return math::silu(x);
    case 6:
      return math::softplus(x);
    case 7:
      return math::erf(x);
    case 8:
      return math::gelu(x);
    case 9:
      return math::gelu_tanh(x);
    case 10:
      return math::sqrt(x);
    case 11:
      return math::rsqrt(x);
    case 12:
      return math::sin(x);
    default:
      return math::cos(x);
  }
}

// values[i] becomes the function of the float whose bits are i * stride, for i < count. `values`: device memory.
void launch_math(int which, std::uint32_t stride, std::int64_t count, float* values, void* stream);

}  // namespace tessera::test
