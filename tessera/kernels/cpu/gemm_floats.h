// What the tiers share that multiply f32: a unit is one k, and of a pair the odd k comes first (gemm.h).
#pragma once
#include "tessera/kernels/cpu/gemm_panels.h"

namespace tessera::cpu {

// A row of x as floats, in the order of summation, with zeros to the end of the last step.
template <class F>
void read_floats_in_pairs(const GemmFacts& g, std::int64_t row, float* out) {
  const std::int64_t padded = g.steps * g.step, whole = g.k / 2 * 2;
  if (g.x_is_f32) {
    const float* x = static_cast<const float*>(g.x) + row * g.k;
    for (std::int64_t k = 0; k < whole; k += 2) {
      out[k] = x[k + 1];
      out[k + 1] = x[k];
    }
    if (whole < g.k) out[whole + 1] = x[whole];
  } else {
    const std::uint16_t* x = static_cast<const std::uint16_t*>(g.x) + row * g.k;
    const auto wide = [&](std::int64_t k) { return std::bit_cast<float>(std::uint32_t{x[k]} << 16); };
    for (std::int64_t k = 0; k < whole; k += 2) {
      out[k] = wide(k + 1);
      out[k + 1] = wide(k);
    }
    if (whole < g.k) out[whole + 1] = wide(whole);
  }
  for (std::int64_t k = whole; k < padded; ++k)
    if (k != whole + 1 || whole == g.k) out[k] = 0;
}

// see(unit, factors) for kPairs pairs, of which odd(p) and even(p) give the factors.
template <int kPairs, class See, class Odd, class Even>
__attribute__((always_inline)) inline void see_pairs(const See& see, const Odd& odd, const Even& even) {
  unrolled<kPairs>([&](auto p) __attribute__((always_inline)) {
    see(std::integral_constant<int, decltype(p)::value * 2>{}, odd(decltype(p)::value));
    see(std::integral_constant<int, decltype(p)::value * 2 + 1>{}, even(decltype(p)::value));
  });
}

}  // namespace tessera::cpu
