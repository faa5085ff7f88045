// Law 2, codec: encode(decode(c)) == c for every finite code; NaN stays NaN; infinities as Specials says; ties to even,
// saturation and zeros. Law 2 for the lanes: encode_magnitude() is encode().
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/numeric/format.h"
#include "tessera/numeric/lanes.h"

namespace tessera {
namespace {

// Of every format, codes and scales, but f32: its codes cannot all be tried.
std::vector<Element> elements() {
  std::vector<Element> found;
  for (const Format* format : all_formats())
    for (const Element& e : {format->element, format->scale})
      if (e.bits() > 0 && e.bits() <= 16 && std::find(found.begin(), found.end(), e) == found.end()) found.push_back(e);
  return found;
}
// Those that the lanes encode and decode.
std::vector<Element> small_elements() {
  std::vector<Element> small = elements();
  std::erase_if(small, [](const Element& e) { return e.bits() > 8 || e.mantissa_bits == 0; });
  return small;
}

TEST(Codec, EncodesWhatItDecodes) {
  for (const Element& e : elements()) {
    for (std::uint32_t code = 0; code < 1u << e.bits(); ++code) {
      const float value = decode(e, code);
      if (is_nan(value)) {
        EXPECT_TRUE(is_nan(decode(e, encode(e, value)))) << e.bits() << " " << code;
      } else if (is_finite(value)) {
        EXPECT_EQ(encode(e, value), code) << e.exponent_bits << "," << e.mantissa_bits;
      }
    }
  }
}

// Midway between neighbours the even code wins; one f32 beside it, the nearer.
TEST(Codec, RoundsTiesToEven) {
  for (const Element& e : elements()) {
    for (std::uint32_t code = 0; code < max_code(e); ++code) {
      const float low = decode(e, code), high = decode(e, code + 1), middle = low / 2 + high / 2;
      const std::uint32_t even = code % 2 == 0 ? code : code + 1;
      EXPECT_EQ(encode(e, middle), even) << e.bits() << " " << code;
      EXPECT_EQ(encode(e, std::bit_cast<float>(std::bit_cast<std::uint32_t>(middle) - 1)), code);
      EXPECT_EQ(encode(e, std::bit_cast<float>(std::bit_cast<std::uint32_t>(middle) + 1)), code + 1);
    }
  }
}

TEST(Codec, SaturatesBeyondTheLargestNumber) {
  for (const Element& e : elements()) {
    for (const float x : {max_finite(e), kInfinity, 3.0e38f}) {
      if (x < max_finite(e)) continue;
      EXPECT_EQ(encode(e, x), max_code(e));
      if (e.is_signed) {
        EXPECT_EQ(encode(e, -x), max_code(e) | e.sign_bit());
      }
    }
  }
}

TEST(Codec, KeepsTheSignOfZero) {
  for (const Element& e : elements()) {
    if (!e.is_signed) continue;
    EXPECT_EQ(encode(e, -0.f), e.sign_bit());
    EXPECT_EQ(encode(e, 0.f), 0u);
  }
}

// Named values of the formats' own documents.
TEST(Codec, HasThePublishedLimits) {
  EXPECT_EQ(max_finite(kE2M1), 6.f);
  EXPECT_EQ(max_finite(kE4M3), 448.f);
  EXPECT_EQ(max_finite(kE5M2), 57344.f);
  EXPECT_EQ(max_finite(kUE5M3), 114688.f);
  EXPECT_EQ(decode(kUE5M3, 1), 0x1p-17f);
  EXPECT_EQ(decode(kUE5M3, 0xf8), 65536.f);  // its highest exponent holds numbers
  EXPECT_TRUE(is_nan(decode(kUE5M3, 0xff)));
  EXPECT_EQ(decode(kE8M0, 0), 0x1p-127f);
  EXPECT_EQ(decode(kE8M0, 254), 0x1p127f);
  EXPECT_TRUE(is_nan(decode(kE8M0, 255)));
  EXPECT_EQ(decode(kE4M3, 1), 0x1p-9f);
  EXPECT_EQ(decode(kE5M2, 0x7c), kInfinity);
}

// Around every code and every tie, and over a coarse sweep of all magnitudes.
TEST(Codec, LanesRoundAsTheSearchDoes) {
  for (const Element& e : small_elements()) {
    for (std::uint32_t bits = 0; bits < 0x7f800000u; bits += 4093)
      ASSERT_EQ(encode_magnitude<float>(e, std::bit_cast<float>(bits)), encode(e, std::bit_cast<float>(bits)))
          << std::hex << bits;
    for (std::uint32_t code = 0; code < max_code(e); ++code) {
      const float middle = (decode(e, code) + decode(e, code + 1)) / 2;
      for (int d = -3; d <= 3; ++d) {
        const float x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(middle) + static_cast<std::uint32_t>(d));
        ASSERT_EQ(encode_magnitude<float>(e, x), encode(e, x)) << x;
      }
    }
  }
}

TEST(Codec, LanesDecodeScalesAsTheElementDoes) {
  for (std::uint32_t byte = 0; byte < 255; ++byte) EXPECT_EQ(decode_e8m0<float>(byte), decode(kE8M0, byte));
  EXPECT_TRUE(is_nan(decode_e8m0<float>(255)));
  for (const Element& e : small_elements()) {
    const std::uint32_t codes = 1u << (e.exponent_bits + e.mantissa_bits);
    for (std::uint32_t code = 0; code < codes; ++code) {
      const float value = decode(e, code), lane = decode_magnitude<float>(e, code | e.sign_bit());
      EXPECT_TRUE(value == lane || (is_nan(value) && is_nan(lane))) << e.exponent_bits << " " << code;
    }
  }
}

// Stochastic: a code keeps itself, neighbours are the only outcomes, and their share is the position between them.
TEST(Codec, StochasticRoundingIsFairBetweenNeighbours) {
  for (const Element& e : small_elements()) {
    for (std::uint32_t code = 0; code < max_code(e); code += 3) {
      const float low = decode(e, code), high = decode(e, code + 1), x = low + (high - low) * 0.25f;
      int up = 0;
      constexpr int kDraws = 4096;
      for (int i = 0; i < kDraws; ++i) {
        const std::uint32_t random = static_cast<std::uint32_t>(i)
                                     << 20;  // every value of the highest bits that are used
        const std::uint32_t draw = random >> 9 | random << 23;
        EXPECT_EQ(encode_magnitude_stochastic<float>(e, low, draw), code);
        const std::uint32_t got = encode_magnitude_stochastic<float>(e, x, draw);
        ASSERT_TRUE(got == code || got == code + 1) << code << " " << got;
        up += got == code + 1;
      }
      EXPECT_EQ(up, kDraws / 4) << e.bits() << " "
                                << code;  // exact: the draws are a uniform grid finer than the step's bits
    }
  }
}

// log2 as f32 rounds it, at the places that spec/checkpoint-dialects.md (section 2, trap 3) gives.
TEST(Codec, CeilOfLog2RoundsAsF32Does) {
  const auto above = [](int k, std::uint32_t n) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(pow2(k)) + n);
  };
  for (const auto& [k, n] : std::vector<std::pair<int, std::uint32_t>>{
           {3, 0}, {-4, 0}, {4, 1}, {-5, 1}, {8, 2}, {16, 5}, {32, 11}, {64, 22}, {-64, 11}}) {
    EXPECT_EQ(ceil_log2_f32(above(k, n)), k) << k << " " << n;
    EXPECT_EQ(ceil_log2_f32(above(k, n + 1)), k + 1) << k << " " << n;
  }
  EXPECT_EQ(ceil_log2_f32(0x1p-149f), -149);
}

// log2 of every number of 16 bits, rounded to its dtype, and of numbers of f32 around powers of two: a library's, from
// f64.
TEST(Codec, LogarithmsReachTheNextIntegerAsTheDtypeRounds) {
  const auto expect = [](DType type, float a) {
    const float rounded = round_to(type, static_cast<float>(std::log2(static_cast<double>(a))));
    ASSERT_EQ(floor_log2_in(type, a), static_cast<int>(std::floor(rounded))) << std::hexfloat << a;
    ASSERT_EQ(ceil_log2_in(type, a), static_cast<int>(std::ceil(rounded))) << std::hexfloat << a;
  };
  for (std::uint32_t bits = 1; bits < 0x7f80; ++bits) expect(DType::kBf16, decode(kE8M7, bits));
  for (std::uint32_t bits = 1; bits < 0x7c00; ++bits) expect(DType::kF16, decode(kE5M10, bits));
  for (int k = -140; k < 128; ++k)
    for (int n = -100; n <= 100; ++n) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(pow2(k)) + static_cast<std::uint32_t>(n);
      const float a = std::bit_cast<float>(bits);
      if (a > 0 && is_finite(a)) expect(DType::kF32, a);
    }
}

}  // namespace
}  // namespace tessera
