// f32 arithmetic as the matrix kernels do it: nearest-even, subnormal operands and results being zeros of their sign.
#pragma once
#include <cmath>

namespace tessera::reference {

inline float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.f, x) : x; }
inline float fused(float a, float b, float c) { return flushed(std::fma(flushed(a), flushed(b), flushed(c))); }
inline float product(float a, float b) { return flushed(flushed(a) * flushed(b)); }
inline float sum(float a, float b) { return flushed(flushed(a) + flushed(b)); }

}  // namespace tessera::reference
