// The elementwise functions of the engine: the same bits on every CPU tier, in lanes or alone, and on a GPU (law 11).
//
// f32 in, f32 out, written as lanes.h is: F is float or a vector of floats, each operation is one IEEE operation, and
// selections take the place of branches. Where nothing else is said:
//   error   in ulp of the exact result, at most the number given; measured over every float that matters
//   (docs/design/math.md) domain  every float; subnormal arguments and results keep their bits, nothing is flushed NaN
//   gives the quiet NaN 0x7fc00000, whatever its sign and payload; so does an argument outside the domain zeros   odd
//   functions keep the sign of a zero
// Law: bits depend on x alone. Source: coefficients and constants are derived by tools/derive_math.
#pragma once
#include <cmath>

#include "tessera/numeric/lanes.h"

namespace tessera::math {

template <class F>
struct SineCosine {
  F sine, cosine;
};

// What the functions share, for this header only.
namespace part {

// c0 + x (c1 + x (c2 + ...)).
template <class F>
constexpr F horner(F, float c) {
  return all<F>(c);
}
template <class F, class... Rest>
constexpr F horner(F x, float c, Rest... above) {
  return all<F>(c) + x * horner(x, above...);
}

template <class F>
constexpr F clamp(F x, float low, float high) {
  const F raised = x < all<F>(low) ? all<F>(low) : x;
  return raised > all<F>(high) ? all<F>(high) : raised;
}
template <class F>
constexpr F quiet(F y) {
  return is_nan_lane(y) ? all<F>(kNaN) : y;
}
template <class F>
constexpr F with_sign_of(F x, F magnitude) {
  return float_of<F>(word_of(magnitude) | (word_of(x) & 0x80000000u));
}
// x without the low 12 bits of its mantissa: products of two such are exact.
template <class F>
constexpr F top_half(F x) {
  return float_of<F>(word_of(x) & 0xfffff000u);
}

// A number high + low.
template <class F>
struct Pair {
  F high, low;
};

// An integer as both kinds of lane. Magnitudes below 2^22.
template <class F>
struct Whole {
  F value;
  Int<F> index;
};
template <class F>
constexpr Whole<F> nearest_whole(F x) {
  const F magic = all<F>(0x1.8p23f), sum = x + magic;  // its unit is 1
  return {sum - magic, std::bit_cast<Int<F>>(word_of(sum) - 0x4b400000u)};
}
template <class F>
constexpr F float_of_whole(Int<F> n) {
  return float_of<F>(std::bit_cast<Word<F>>(n) + 0x4b400000u) - all<F>(0x1.8p23f);
}

// mantissa 2^exponent, rounded where it is applied: in two steps, of which the first is exact, so that results reach
// infinity and the subnormals with one rounding. Exponents in -252 .. 254.
template <class F>
struct Scaled {
  F mantissa;
  Int<F> exponent;
};
template <class F>
constexpr F apply(Scaled<F> x) {
  const Int<F> half = x.exponent >> 1, rest = x.exponent - half;
  const F first = float_of<F>(std::bit_cast<Word<F>>((half + 127) << 23));
  const F second = float_of<F>(std::bit_cast<Word<F>>((rest + 127) << 23));
  return x.mantissa * first * second;
}

// e^(high + low), |high + low| at most 0.3486.
template <class F>
constexpr F exp_reduced(F high, F low) {
  const F r = high + low;
  const F p = horner(r, 0x1.fffffcp-2f, 0x1.555486p-3f, 0x1.555838p-5f, 0x1.12424p-7f, 0x1.6af416p-10f);
  return all<F>(1.f) + (high + (r * r * p + low));
}

// e^(x.high + x.low) with a mantissa in [0.7, 1.42]. The high half of ln 2 has 16 bits: its multiples are exact.
template <class F>
constexpr Scaled<F> exp_scaled(Pair<F> x) {
  const Whole<F> n = nearest_whole((x.high + x.low) * all<F>(0x1.715476p0f));
  const F high = x.high - n.value * all<F>(0x1.62e4p-1f);
  const F low = x.low - n.value * all<F>(0x1.7f7d1cp-20f);
  return {exp_reduced(high, low), n.index};
}

// n ln 2 + log(1 + f), f in [-1/4, 1/2], n whole.
template <class F>
constexpr F log_reduced(F f, F n) {
  const F p = horner(f, 0x1.555554p-2f, -0x1.000018p-2f, 0x1.999b5p-3f, -0x1.554d34p-3f, 0x1.243c18p-3f,
                     -0x1.000da4p-3f, 0x1.d2c3a6p-4f, -0x1.b09398p-4f, 0x1.4874d6p-4f, -0x1.02993p-5f);
  const F square = f * f, base = n * all<F>(0x1.62e4p-1f);
  const F sum = base + f, lost = f - (sum - base);  // exact: base is 0 or the larger
  return sum + (lost - (square * all<F>(0.5f) - (square * f * p + n * all<F>(0x1.7f7d1cp-20f))));
}

// a^2 to more than f32.
template <class F>
constexpr Pair<F> square(F a) {
  const F top = top_half(a);
  return {top * top, (a - top) * (a + top)};
}

// by Phi(-a), Phi the distribution of the normal law. a in [0, 15].
template <class F>
constexpr Scaled<F> normal_tail(F by, F a) {
  const F k = all<F>(2.5f), d = a + k, s = k / d;
  const F p = horner(s - all<F>(0.5f), 0x1.217252p-2f, 0x1.6347ccp-2f, 0x1.b07f3ep-3f, -0x1.e4320ap-6f, -0x1.adb6ecp-4f,
                     0x1.4faccep-6f, 0x1.0a9b5p-4f, -0x1.222078p-5f, -0x1.145838p-5f, 0x1.1c1d74p-5f);
  // What the sum and the quotient lost, as a share of s. s p changes by 1 + 1.1 s times the share, near enough.
  const F d_top = top_half(d), d_rest = d - d_top, s_top = top_half(s), s_rest = s - s_top;
  const F remainder = ((k - s_top * d_top) - (s_rest * d_top + s_top * d_rest)) - s_rest * d_rest;
  const F share = (remainder - s * (a - (d - k))) * all<F>(0.4f);
  const F sp = s * p, ratio = sp + sp * (share * (all<F>(1.f) + all<F>(1.1f) * s));
  const Pair<F> a2 = square(a);
  const Scaled<F> e = exp_scaled<F>({a2.high * all<F>(-0.5f), a2.low * all<F>(-0.5f)});
  return {by * ratio * e.mantissa, e.exponent};
}

// x sigmoid(v.high + v.low). x and v of one sign or x positive; |v| at most 128.
template <class F>
constexpr F gated(F x, Pair<F> v) {
  const auto negative = v.high < all<F>(0.f);
  const Scaled<F> e = exp_scaled<F>({negative ? v.high : -v.high, negative ? v.low : -v.low});  // e^-|v|
  const F quotient = (negative ? x * e.mantissa : x) / (all<F>(1.f) + apply(e));
  return apply<F>({quotient, negative ? e.exponent : Int<F>{}});
}

// In f64: pi/2 is cut after 27 bits, so that its multiples and the difference from |x| are exact; the rest follows.
constexpr SineCosine<float> sine_cosine(float x) {
  const bool inside = magnitude(x) <= 0x1p24f;
  const double a = static_cast<double>(inside ? magnitude(x) : 0.f);
  const double sum = a * 0x1.45f306dc9c883p-1 + 0x1.8p52, k = sum - 0x1.8p52;
  const double r = (a - k * 0x1.921fb54p0) - k * 0x1.10b4611a62633p-30;
  const double z = r * r;
  const double sine_above =
      -0x1.5555554c71cc6p-3 + z * (0x1.1111086a5d6ccp-7 + z * (-0x1.a00f7f255cd25p-13 + z * 0x1.6cd1f1d7ea7e3p-19));
  const double cosine_above =
      0x1.5555554ed97c8p-5 + z * (-0x1.6c16b82a0c28bp-10 + z * (0x1.a010decaac69p-16 + z * -0x1.241e9b07b0fe5p-22));
  const float sine = static_cast<float>(r + r * z * sine_above);
  const float cosine = static_cast<float>((1.0 - z * 0.5) + z * z * cosine_above);
  const auto quadrant = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(sum)) & 3u;
  const bool odd = (quadrant & 1u) != 0;
  const std::uint32_t sine_sign = ((quadrant & 2u) << 30) ^ (word_of(x) & 0x80000000u);
  const std::uint32_t cosine_sign = ((quadrant + 1u) & 2u) << 30;
  return {inside ? float_of<float>(word_of(odd ? cosine : sine) ^ sine_sign) : kNaN,
          inside ? float_of<float>(word_of(odd ? sine : cosine) ^ cosine_sign) : kNaN};
}

}  // namespace part

// e^x. Error: 0.9. exp(0) == 1; never falls where x rises.
template <class F>
constexpr F exp(F x) {
  return part::quiet(part::apply(part::exp_scaled<F>({part::clamp(x, -110.f, 100.f), F{}})));
}

// 2^x. Error: 0.9. Exact for whole x; never falls where x rises.
template <class F>
constexpr F exp2(F x) {
  const F c = part::clamp(x, -160.f, 140.f);
  const part::Whole<F> n = part::nearest_whole(c);
  const F r = c - n.value, top = part::top_half(r);  // times ln 2, whose high half has 12 bits
  const F low = top * all<F>(0x1.0bfbe8p-15f) + (r - top) * all<F>(0x1.62e43p-1f);
  return part::quiet(part::apply<F>({part::exp_reduced(top * all<F>(0x1.62ep-1f), low), n.index}));
}

// The natural logarithm. Error: 0.85. log(1) == +0, log(+-0) == -infinity; negative x: NaN. Never falls where x rises.
template <class F>
constexpr F log(F x) {
  const auto tiny = x < all<F>(0x1p-126f);
  const F scaled = tiny ? x * all<F>(0x1p64f) : x;
  const Int<F> n = std::bit_cast<Int<F>>(word_of(scaled) - 0x3f400000u) >> 23;  // the rest is in [3/4, 3/2)
  const F rest = float_of<F>(word_of(scaled) - (std::bit_cast<Word<F>>(n) << 23));
  const F number = part::log_reduced(rest - all<F>(1.f), part::float_of_whole<F>(tiny ? n - 64 : n));
  const F above = x == all<F>(kInfinity) ? x : number;
  const F y = x == all<F>(0.f) ? all<F>(-kInfinity) : above;
  return x >= all<F>(0.f) ? y : all<F>(kNaN);
}

// Error: 1.1. |tanh| is at most 1.
template <class F>
constexpr F tanh(F x) {
  const F a = part::clamp(magnitude_of(x), 0.f, 10.f), z = a * a;
  const F p = part::horner(z, -0x1.55553cp-2f, 0x1.110be4p-3f, -0x1.b9623ap-5f, 0x1.6009b6p-6f, -0x1.04608ep-7f,
                           0x1.2da3c6p-9f, -0x1.77db6p-12f);
  const F e = part::apply(part::exp_scaled<F>({a * all<F>(-2.f), F{}}));
  const F large = all<F>(1.f) - (e + e) / (all<F>(1.f) + e);
  return part::quiet(part::with_sign_of(x, a < all<F>(1.f) ? a + a * z * p : large));
}

// 1 / (1 + e^-x). Error: 2.5. sigmoid(0) == 0.5.
template <class F>
constexpr F sigmoid(F x) {
  return part::quiet(part::gated<F>(all<F>(1.f), {part::clamp(x, -128.f, 128.f), F{}}));
}

// x sigmoid(x). Error: 3.3. silu(-infinity) == -0, the limit.
template <class F>
constexpr F silu(F x) {
  const F raised = x < all<F>(-128.f) ? all<F>(-128.f) : x;
  return part::quiet(part::gated<F>(raised, {part::clamp(x, -128.f, 128.f), F{}}));
}

// log(1 + e^x), without the threshold of other libraries. Error: 1.7. softplus(-infinity) == +0.
template <class F>
constexpr F softplus(F x) {
  const F a = part::clamp(magnitude_of(x), 0.f, 128.f);
  const F e = part::apply(part::exp_scaled<F>({-a, F{}}));
  const auto large = e >= all<F>(0.5f);  // 1 + e = 2 (1 + f)
  const F f = large ? (e - all<F>(1.f)) * all<F>(0.5f) : e;
  const F logarithm = part::log_reduced(f, large ? all<F>(1.f) : F{});
  return part::quiet(x > all<F>(0.f) ? x + logarithm : logarithm);
}

// Error: 1.4. |erf| is at most 1.
template <class F>
constexpr F erf(F x) {
  const F a = part::clamp(magnitude_of(x), 0.f, 4.f);
  const F p = part::horner(a * a, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2ce6p-4f, -0x1.b7f71ap-6f, 0x1.53f224p-8f,
                           -0x1.a3515ep-11f, 0x1.4771fcp-14f);
  const F tail = part::apply(part::normal_tail(all<F>(2.f), a * all<F>(0x1.6a09e6p0f)));
  return part::quiet(part::with_sign_of(x, a < all<F>(1.f) ? a + a * p : all<F>(1.f) - tail));
}

// x Phi(x) = x (1 + erf(x / sqrt(2))) / 2, as the larger of x and 0 less |x| Phi(-|x|): the tail keeps its digits.
// Error: 5. gelu(-infinity) == -0, the limit.
template <class F>
constexpr F gelu(F x) {
  const F a = part::clamp(magnitude_of(x), 0.f, 15.f);
  const F less = part::apply(part::normal_tail(a, a));
  return part::quiet(x < all<F>(0.f) ? -less : x - less);
}

// x (1 + tanh(u)) / 2 = x sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3); 2 u is computed to more than f32, so that
// the tail keeps its digits. Error: 3.3. gelu_tanh(-infinity) == -0, the limit.
template <class F>
constexpr F gelu_tanh(F x) {
  const F a = part::clamp(x, -11.5f, 11.5f);
  const part::Pair<F> a2 = part::square(a);
  const F top2 = part::top_half(a2.high + a2.low), rest2 = (a2.high - top2) + a2.low;
  const F cubic = top2 * all<F>(0x1.244p-4f);  // exact: 12 bits by 12
  const F slope = all<F>(0x1.988454p0f) + cubic;
  const F bigger = lane_max(all<F>(0x1.988454p0f), cubic), smaller = lane_min(all<F>(0x1.988454p0f), cubic);
  const F lost = smaller - (slope - bigger);  // what the sum dropped, exactly
  const F slope_low =
      (lost - all<F>(0x1.857936p-25f)) + (rest2 * all<F>(0x1.2444f2p-4f) + top2 * all<F>(0x1.3ca936p-18f));
  const F top = part::top_half(a), top_slope = part::top_half(slope);
  const F rest_slope = (slope - top_slope) + slope_low;
  const part::Pair<F> v{top * top_slope, top * rest_slope + (a - top) * (slope + slope_low)};
  return part::quiet(part::gated<F>(x < all<F>(-11.5f) ? a : x, v));
}

// The square root, rounded once (IEEE). A tier that has an instruction for its lanes specializes it.
template <class F>
constexpr F sqrt(F x) {
  if constexpr (LaneTraits<F>::kCount == 1) {
    return part::quiet(std::sqrt(x));
  } else {
    F y{};
    for (int i = 0; i < LaneTraits<F>::kCount; ++i) y[i] = sqrt<float>(x[i]);
    return y;
  }
}

// 1 / sqrt(x), each rounded. Error: 1.5. rsqrt(+-0) == +-infinity; negative x: NaN.
template <class F>
constexpr F rsqrt(F x) {
  return part::quiet(all<F>(1.f) / sqrt(x));
}

// Sine and cosine of the same x, in radians; for rope take both at once. Domain: |x| <= 2^24. Error: 0.501. Computed in
// f64, with fixed operations, and rounded to f32 at the end; vectors take one number after another.
template <class F>
constexpr SineCosine<F> sine_cosine(F x) {
  if constexpr (LaneTraits<F>::kCount == 1) {
    return part::sine_cosine(x);
  } else {
    SineCosine<F> y{};
    for (int i = 0; i < LaneTraits<F>::kCount; ++i) {
      const SineCosine<float> one = part::sine_cosine(x[i]);
      y.sine[i] = one.sine;
      y.cosine[i] = one.cosine;
    }
    return y;
  }
}
template <class F>
constexpr F sin(F x) {
  return sine_cosine(x).sine;
}
template <class F>
constexpr F cos(F x) {
  return sine_cosine(x).cosine;
}

}  // namespace tessera::math
