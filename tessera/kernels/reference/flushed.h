// f32 arithmetic as the matrix kernels do it: nearest-even, subnormal operands and results being zeros of their sign.
#pragma once
#include <cmath>

namespace tessera::reference {

inline float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.f, x) : x; }

// fma(a, b, c), or a * b where c is null, of operands that are no subnormals. Whether a result that arrives at 2^-126
// was rounded up from under it shows when the same sum is made 2^100 times as large. Nothing overflows there: with 48
// bits in a product and 24 in c, neither can be above 2^-77 and leave no more than 2^-126.
inline float rounded_once(float a, float b, const float* c) {
  const auto of = [&](float x, float y, float scale) { return c != nullptr ? std::fma(x, y, *c * scale) : x * y; };
  const float result = of(a, b, 1);
  if (std::fabs(result) != 0x1p-126f) return flushed(result);
  const float small = std::fabs(a) < std::fabs(b) ? a : b, large = std::fabs(a) < std::fabs(b) ? b : a;
  return std::fabs(of(small * 0x1p100f, large, 0x1p100f)) < 0x1p-26f ? std::copysign(0.f, result) : result;
}
inline float fused(float a, float b, float c) {
  const float addend = flushed(c);
  return rounded_once(flushed(a), flushed(b), &addend);
}
inline float product(float a, float b) { return rounded_once(flushed(a), flushed(b), nullptr); }
inline float sum(float a, float b) { return flushed(flushed(a) + flushed(b)); }  // exact where it is subnormal

}  // namespace tessera::reference
