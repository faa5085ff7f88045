// The functions of math.h against the C library in f64, whose own error is far below the bounds; special values; and
// law 11 for lanes: vectors of 8 and 16 give the bits of one number. TESSERA_MATH_STRIDE=1 in the environment sweeps
// all floats (hours); the default takes every 40009th and all near the places where a function changes its formula.
// Vectors wider than the processor's go by another convention between units; these stay in this one.
#pragma GCC diagnostic ignored "-Wpsabi"
#include "tessera/numeric/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace tessera {
namespace {
typedef float Floats8 __attribute__((vector_size(32)));
typedef std::uint32_t Words8 __attribute__((vector_size(32)));
typedef std::int32_t Ints8 __attribute__((vector_size(32)));
typedef float Floats16 __attribute__((vector_size(64)));
typedef std::uint32_t Words16 __attribute__((vector_size(64)));
typedef std::int32_t Ints16 __attribute__((vector_size(64)));
}  // namespace
template <>
struct LaneTraits<Floats8> {
  using Word = Words8;
  using Int = Ints8;
  static constexpr int kCount = 8;
};
template <>
struct LaneTraits<Floats16> {
  using Word = Words16;
  using Int = Ints16;
  static constexpr int kCount = 16;
};

namespace {

constexpr double kEndOfFloats = 0x1p128;

double logistic(double v) { return 1 / (1 + std::exp(-v)); }
double exact_silu(double x) { return x * logistic(x); }
double exact_softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double exact_gelu(double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); }
double exact_gelu_tanh(double x) { return x * logistic(1.5957691216057307 * (x + 0.044715 * x * x * x)); }
double exact_rsqrt(double x) { return 1 / std::sqrt(x); }

// Calls visit(name, error in ulp that the header promises, function, exact function, largest |x|) for each function.
template <class Visit>
void visit_functions(Visit visit) {
#define TESSERA_MATH(name) [](const auto& x) { return math::name(x); }
  using Exact = double (*)(double);
  visit("exp", 0.9, TESSERA_MATH(exp), Exact{std::exp}, kEndOfFloats);
  visit("exp2", 0.9, TESSERA_MATH(exp2), Exact{std::exp2}, kEndOfFloats);
  visit("log", 0.85, TESSERA_MATH(log), Exact{std::log}, kEndOfFloats);
  visit("tanh", 1.1, TESSERA_MATH(tanh), Exact{std::tanh}, kEndOfFloats);
  visit("sigmoid", 2.5, TESSERA_MATH(sigmoid), Exact{logistic}, kEndOfFloats);
  visit("silu", 3.3, TESSERA_MATH(silu), Exact{exact_silu}, kEndOfFloats);
  visit("softplus", 1.7, TESSERA_MATH(softplus), Exact{exact_softplus}, kEndOfFloats);
  visit("erf", 1.4, TESSERA_MATH(erf), Exact{std::erf}, kEndOfFloats);
  visit("gelu", 5.0, TESSERA_MATH(gelu), Exact{exact_gelu}, kEndOfFloats);
  visit("gelu_tanh", 3.3, TESSERA_MATH(gelu_tanh), Exact{exact_gelu_tanh}, kEndOfFloats);
  visit("sqrt", 0.5, TESSERA_MATH(sqrt), Exact{std::sqrt}, kEndOfFloats);
  visit("rsqrt", 1.5, TESSERA_MATH(rsqrt), Exact{exact_rsqrt}, kEndOfFloats);
  visit("sin", 0.501, TESSERA_MATH(sin), Exact{std::sin}, 0x1p24);
  visit("cos", 0.501, TESSERA_MATH(cos), Exact{std::cos}, 0x1p24);
#undef TESSERA_MATH
}

std::uint64_t stride() {
  const char* text = std::getenv("TESSERA_MATH_STRIDE");
  return text != nullptr ? std::max(1ull, std::strtoull(text, nullptr, 10)) : 40009;
}

// Every stride()th float, and the neighbours of the places where a formula ends, an exponent changes or a result
// overflows, vanishes or reaches its limit. In rising order of |x|, first the positive ones.
const std::vector<float>& arguments() {
  static const std::vector<float> list = [] {
    std::vector<std::uint32_t> words;
    for (std::uint64_t w = 0; w < 0x7f800000u; w += stride()) words.push_back(static_cast<std::uint32_t>(w));
    for (const float place :
         {0x1p-126f, 0.34657359f, 0.5f,  0.69314718f, 0.75f,     1.f,        1.5f,       2.f,   3.f,   4.f,   9.0109f,
          10.f,      11.5f,       14.4f, 15.f,        87.33654f, 88.722839f, 103.97208f, 126.f, 128.f, 149.f, 0x1p24f})
      for (std::uint32_t i = 0; i < 400; ++i) words.push_back(word_of(place) - 200 + i);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::vector<float> values;
    for (const std::uint32_t sign : {0u, 0x80000000u})
      for (const std::uint32_t w : words) values.push_back(float_of<float>(w | sign));
    return values;
  }();
  return list;
}

// |found - exact| in units of the last place of f32 at the exact value. What is past the largest float counts as 2^128.
double ulps(float found, double exact) {
  if (std::isnan(found) && std::isnan(exact)) return 0;
  const double limited = std::clamp(exact, -kEndOfFloats, kEndOfFloats);
  const double value = std::clamp(static_cast<double>(found), -kEndOfFloats, kEndOfFloats);
  const int exponent = limited == 0 ? -126 : std::clamp(std::ilogb(limited), -126, 127);
  const double error = std::fabs(value - limited) / std::ldexp(1.0, exponent - 23);
  return std::isnan(error) ? kEndOfFloats : error;
}

TEST(Math, StaysWithinItsErrors) {
  visit_functions([](const char* name, double bound, auto f, auto exact, double end) {
    double worst = 0;
    float at = 0;
    for (const float x : arguments()) {
      if (std::fabs(static_cast<double>(x)) > end) continue;
      const double error = ulps(f(x), exact(static_cast<double>(x)));
      if (error > worst) {
        worst = error;
        at = x;
      }
    }
    EXPECT_LE(worst, bound) << name << " at " << at;
    EXPECT_GT(worst, bound / 2) << name << ": the header promises too little";
  });
}

// One function from array to array, so that no call passes a vector.
template <class F, class Function>
[[gnu::flatten]] void apply_lanes(Function f, const float* in, float* out) {
  F x;
  __builtin_memcpy(&x, in, sizeof x);
  const F y = f(x);
  __builtin_memcpy(out, &y, sizeof y);
}

template <class F, class Function>
void expect_lanes_agree(const char* name, Function f) {
  constexpr std::size_t kCount = LaneTraits<F>::kCount;
  std::vector<float> values = arguments();
  for (const float x : {kInfinity, -kInfinity, kNaN, -kNaN, float_of<float>(0x7f800001u), 0.f, -0.f, 1.f})
    values.insert(values.begin() + 3, x);  // beside ordinary ones
  while (values.size() % kCount != 0) values.push_back(1.f);
  for (std::size_t i = 0; i < values.size(); i += kCount) {
    std::array<float, kCount> out;
    apply_lanes<F>(f, values.data() + i, out.data());
    for (std::size_t k = 0; k < kCount; ++k)
      ASSERT_EQ(word_of(out[k]), word_of(f(values[i + k]))) << name << " of " << values[i + k];
  }
}

TEST(Math, LanesGiveTheBitsOfOneNumber) {
  visit_functions([](const char* name, double, auto f, auto, double) {
    expect_lanes_agree<Floats8>(name, f);
    expect_lanes_agree<Floats16>(name, f);
  });
}

TEST(Math, GivesOneNaNForAnyNaN) {
  visit_functions([](const char* name, double, auto f, auto, double) {
    for (const std::uint32_t w : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff812345u, 0x7fffffffu})
      EXPECT_EQ(word_of(f(float_of<float>(w))), 0x7fc00000u) << name;
  });
}

TEST(Math, HasTheLimitsOfItsFunctions) {
  struct Limit {
    const char* name;
    float low, high;  // at -infinity and +infinity
  };
  constexpr Limit kLimits[] = {
      {"exp", 0.f, kInfinity},   {"exp2", 0.f, kInfinity},  {"log", kNaN, kInfinity},       {"tanh", -1.f, 1.f},
      {"sigmoid", 0.f, 1.f},     {"silu", -0.f, kInfinity}, {"softplus", 0.f, kInfinity},   {"erf", -1.f, 1.f},
      {"gelu", -0.f, kInfinity}, {"sin", kNaN, kNaN},       {"gelu_tanh", -0.f, kInfinity}, {"sqrt", kNaN, kInfinity},
      {"rsqrt", kNaN, 0.f},      {"cos", kNaN, kNaN},
  };
  visit_functions([&](const char* name, double, auto f, auto, double) {
    const auto* limit = std::find_if(std::begin(kLimits), std::end(kLimits),
                                     [&](const Limit& l) { return std::string_view(l.name) == name; });
    ASSERT_NE(limit, std::end(kLimits)) << name;
    EXPECT_EQ(word_of(f(-kInfinity)), word_of(limit->low)) << name;
    EXPECT_EQ(word_of(f(kInfinity)), word_of(limit->high)) << name;
  });
}

TEST(Math, IsExactWhereTheResultIsAFloat) {
  EXPECT_EQ(math::exp(0.f), 1.f);
  EXPECT_EQ(math::exp(-0.f), 1.f);
  for (int n = -149; n <= 127; ++n) EXPECT_EQ(math::exp2(static_cast<float>(n)), pow2(n));
  EXPECT_EQ(math::exp2(128.f), kInfinity);
  EXPECT_EQ(word_of(math::log(1.f)), 0u);
  EXPECT_EQ(math::log(0.f), -kInfinity);
  EXPECT_EQ(math::log(-0.f), -kInfinity);
  EXPECT_EQ(math::sigmoid(0.f), 0.5f);
  EXPECT_EQ(math::softplus(0.f), 0x1.62e43p-1f);  // ln 2, rounded
  EXPECT_EQ(math::cos(0.f), 1.f);
  for (int n = -74; n <= 63; ++n) EXPECT_EQ(math::rsqrt(pow2(n) * pow2(n)), 1 / pow2(n)) << n;
  EXPECT_EQ(math::rsqrt(0.f), kInfinity);
  EXPECT_EQ(math::rsqrt(-0.f), -kInfinity);
  EXPECT_TRUE(is_nan(math::log(-1.f)) && is_nan(math::sqrt(-1.f)) && is_nan(math::rsqrt(-1.f)));
}

TEST(Math, KeepsTheSignOfZero) {
  for (const float zero : {0.f, -0.f}) {
    EXPECT_EQ(word_of(math::tanh(zero)), word_of(zero));
    EXPECT_EQ(word_of(math::erf(zero)), word_of(zero));
    EXPECT_EQ(word_of(math::sin(zero)), word_of(zero));
    EXPECT_EQ(word_of(math::silu(zero)), word_of(zero));
    EXPECT_EQ(word_of(math::gelu(zero)), word_of(zero));
    EXPECT_EQ(word_of(math::gelu_tanh(zero)), word_of(zero));
    EXPECT_EQ(word_of(math::sqrt(zero)), word_of(zero));
  }
}

TEST(Math, IsOddOrEvenToTheLastBit) {
  for (const float x : arguments()) {
    ASSERT_EQ(word_of(math::tanh(-x)), word_of(-math::tanh(x))) << x;
    ASSERT_EQ(word_of(math::erf(-x)), word_of(-math::erf(x))) << x;
    if (magnitude(x) > 0x1p24f) continue;
    ASSERT_EQ(word_of(math::sin(-x)), word_of(-math::sin(x))) << x;
    ASSERT_EQ(word_of(math::cos(-x)), word_of(math::cos(x))) << x;
  }
}

TEST(Math, NeverFallsWhereTheArgumentRises) {
  std::vector<float> rising = arguments();
  std::sort(rising.begin(), rising.end());
  visit_functions([&](const char* name, double, auto f, auto, double) {
    const std::string_view n = name;
    if (n != "exp" && n != "exp2" && n != "log") return;
    float last = -kInfinity;
    for (const float x : rising) {
      const float y = f(x);
      if (is_nan(y)) continue;
      ASSERT_GE(y, last) << name << " at " << x;
      last = y;
    }
  });
}

TEST(Math, StaysInsideItsRange) {
  for (const float x : arguments()) {
    ASSERT_LE(magnitude(math::tanh(x)), 1.f) << x;
    ASSERT_LE(magnitude(math::erf(x)), 1.f) << x;
    ASSERT_LE(magnitude(math::sigmoid(x)), 1.f) << x;
    if (magnitude(x) > 0x1p24f) continue;
    ASSERT_LE(magnitude(math::sin(x)), 1.f) << x;
    ASSERT_LE(magnitude(math::cos(x)), 1.f) << x;
  }
}

TEST(Math, SinesEndAtTheirDomain) {
  EXPECT_FALSE(is_nan(math::sin(0x1p24f)) || is_nan(math::cos(-0x1p24f)));
  EXPECT_TRUE(is_nan(math::sin(0x1.000002p24f)) && is_nan(math::cos(-0x1.000002p24f)));
}

TEST(Math, CanBeComputedAtCompileTime) {
  static_assert(math::exp(0.f) == 1.f && math::tanh(20.f) == 1.f && math::cos(0.f) == 1.f);
}

}  // namespace
}  // namespace tessera
