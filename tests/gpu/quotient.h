// Launches of quotient.cu.
#pragma once
#include <cstdint>

namespace tessera::test {

struct QuotientCounts {
  unsigned long long compared, f32, f32_of_reciprocal, bf16, e2m1, e2m1_toward_zero, e4m3, e5m2, e2m1_of_reciprocal;
};

// Compares the quotients of sm90_blocks.cuh with IEEE division for every bf16 mantissa over every f32 mantissa, at one
// distance of exponents. Adds to `counts` (device memory) what differs.
void launch_compare_quotients(int exponent, QuotientCounts* counts, void* stream);

}  // namespace tessera::test
