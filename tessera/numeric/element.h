// One small float: what a code means. Every table and bound is computed from these six facts.
#pragma once
#include <bit>
#include <cstdint>

// nvcc lets device code refer to a constant of class type only when that is a device variable.
#ifdef __CUDACC__
#define TESSERA_CONSTANT [[maybe_unused]] static constexpr __device__
#else
#define TESSERA_CONSTANT inline constexpr
#endif

namespace tessera {

enum class Specials : std::uint8_t {
  kNone,     // every code is a number (E2M1)
  kNanOnly,  // the top code is NaN, there is no infinity (E4M3, E8M0)
  kIeee,     // the top exponent holds infinity and NaN
};

struct Element {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  bool is_signed = true;
  Specials specials = Specials::kNone;

  constexpr int bits() const { return exponent_bits + mantissa_bits + (exponent_bits != 0 && is_signed ? 1 : 0); }
  constexpr std::uint32_t sign_bit() const { return is_signed ? 1u << (exponent_bits + mantissa_bits) : 0u; }
  constexpr bool operator==(const Element&) const = default;
};

TESSERA_CONSTANT Element kNoElement{};
TESSERA_CONSTANT Element kE2M1{2, 1, 1, true, Specials::kNone};        // OCP MX v1.0, 5.3.3
TESSERA_CONSTANT Element kE2M3{2, 3, 1, true, Specials::kNone};        // the same, 5.3.2
TESSERA_CONSTANT Element kE3M2{3, 2, 3, true, Specials::kNone};        // the same
TESSERA_CONSTANT Element kE4M3{4, 3, 7, true, Specials::kNanOnly};     // OCP 8-bit floats v1.0, section 4
TESSERA_CONSTANT Element kE5M2{5, 2, 15, true, Specials::kIeee};       // the same
TESSERA_CONSTANT Element kE8M0{8, 0, 127, false, Specials::kNanOnly};  // OCP MX v1.0, 5.4.1
TESSERA_CONSTANT Element kUE5M3{5, 3, 15, false, Specials::kNanOnly};  // intel/auto-round 0.15, data_type/nvfp.py
TESSERA_CONSTANT Element kE8M7{8, 7, 127, true, Specials::kIeee};      // bfloat16
TESSERA_CONSTANT Element kE5M10{5, 10, 15, true, Specials::kIeee};     // IEEE 754 binary16
TESSERA_CONSTANT Element kE8M23{8, 23, 127, true, Specials::kIeee};    // IEEE 754 binary32

constexpr float kNaN = std::bit_cast<float>(0x7fc00000u);
constexpr float kInfinity = std::bit_cast<float>(0x7f800000u);

constexpr bool is_nan(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7fffffffu) > 0x7f800000u; }
constexpr bool is_finite(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u; }
constexpr float magnitude(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffu); }

// 2^exponent, exactly. exponent: -149 .. 127; the small ones are f32 subnormals.
constexpr float pow2(int exponent) {
  return exponent >= -126 ? std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23)
                          : std::bit_cast<float>(std::uint32_t{1} << (exponent + 149));
}

// The value of a code, exact in f32. Bits above element.bits() are ignored.
constexpr float decode(Element element, std::uint32_t code) {
  const std::uint32_t mantissa_mask = (1u << element.mantissa_bits) - 1;
  const std::uint32_t exponent_mask = (1u << element.exponent_bits) - 1;
  const std::uint32_t mantissa = code & mantissa_mask;
  const std::uint32_t exponent = (code >> element.mantissa_bits) & exponent_mask;
  const bool top = exponent == exponent_mask;
  float value = 0;
  if (element.specials == Specials::kNanOnly && top && mantissa == mantissa_mask)
    value = kNaN;
  else if (element.specials == Specials::kIeee && top)
    value = mantissa != 0 ? kNaN : kInfinity;
  else if (element.mantissa_bits == 0)
    value = pow2(static_cast<int>(exponent) - element.bias);
  else if (exponent == 0)
    value = static_cast<float>(mantissa) * pow2(1 - element.bias - element.mantissa_bits);
  else if (element == kE8M23)
    value = std::bit_cast<float>(code & 0x7fffffffu);
  else
    value = static_cast<float>(mantissa + mantissa_mask + 1) *
            pow2(static_cast<int>(exponent) - element.bias - element.mantissa_bits);
  return (code & element.sign_bit()) != 0 ? -value : value;
}

// The code of the largest finite magnitude, without a sign.
constexpr std::uint32_t max_code(Element element) {
  const std::uint32_t all = (1u << (element.exponent_bits + element.mantissa_bits)) - 1;
  if (element.specials == Specials::kNanOnly) return all - 1;
  if (element.specials == Specials::kIeee) return all - (1u << element.mantissa_bits);
  return all;
}
constexpr float max_finite(Element element) { return decode(element, max_code(element)); }

// The code that stands for NaN, or max_code() where the element has none.
constexpr std::uint32_t nan_code(Element element) {
  return element.specials == Specials::kNone ? max_code(element)
                                             : (1u << (element.exponent_bits + element.mantissa_bits)) - 1;
}

// The nearest code, ties to even; magnitudes out of range and infinities saturate; NaN gives nan_code(), without a
// sign. An unsigned element takes the magnitude. Searches the code space: slow, short, and what the fast ones are
// tested against.
constexpr std::uint32_t encode(Element element, float x) {
  if (is_nan(x)) return nan_code(element);
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) >> 31 != 0 ? element.sign_bit() : 0u;
  const float a = magnitude(x);
  std::uint32_t low = 0, high = max_code(element);
  if (a >= decode(element, high)) return sign | high;
  if (a <= decode(element, low)) return sign | low;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (decode(element, middle) <= a ? low : high) = middle;
  }
  const float below = a - decode(element, low),
              above = decode(element, high) - a;  // both exact: neighbours differ by a power of two
  const bool up = below > above || (below == above && (high & 1) == 0);
  return sign | (up ? high : low);
}

}  // namespace tessera
