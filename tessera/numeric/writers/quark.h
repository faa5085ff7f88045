// AMD Quark: NVFP4 like Model Optimizer's but without a least block scale, MX with three ways to take the exponent, FP8
// per tensor and per channel. `quark` rounds the maximum to the element's mantissa ("even", its default);
// `quark:floor` and `quark:ceil` are its other modes. Source: amd/Quark 0.13, torch/kernel and torch/export;
// tests/data/numerics/quark_*; spec/checkpoint-dialects.md 2.8.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

enum class QuarkMode : std::uint8_t { kEven, kFloor, kCeil };

template <QuarkMode kMode>
struct QuarkRule {
  static constexpr float kLeastScale = 0x1p-23f;

  static constexpr bool supports(const Format& f) {
    if (f.scale == kE8M0) return f.block == Block{32, 1} && (f.element.bits() != 6 || kMode == QuarkMode::kEven);
    if (kMode != QuarkMode::kEven) return false;
    if (f.scale == kE4M3) return f.block == Block{16, 1};
    return f.scale == kE8M23 && f.element == kE4M3 && f.block.cols == 0;
  }
  static constexpr float global(const Format& f, float amax, DType) {
    if (!f.has_global) return 1;
    return amax == 0 ? kLeastScale : amax / 2688.f;
  }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    if (f.scale == kE4M3) return e4m3_scale(in);
    if (f.scale == kE8M0) return power_of_two(f, in);
    const F quotient = in.amax / all<F>(448.f);
    const F s = quotient == all<F>(0.f) ? all<F>(kLeastScale) : quotient;
    // A scale that would vanish in the dtype of the weights divides as 0; an infinite one leaves NaNs.
    const F divisor = round_to(in.source, s) == all<F>(0.f) ? all<F>(0.f) : s;
    return {word_of(s), s < all<F>(kInfinity) ? divisor : all<F>(kNaN)};
  }
  static constexpr Encode encode(const Format& f, DType) {
    const bool fp8 = f.scale == kE8M23;
    return {.round_quotient = fp8,
            .sign = fp8 ? SignOfZero::kKept : SignOfZero::kDropped,
            .nan_code = quiet_code(f.element)};
  }

 private:
  // What a NaN leaves in an element without one: its exponent and the first bit of its mantissa. 7 of E2M1.
  static constexpr std::uint8_t quiet_code(const Element& e) {
    const std::uint32_t exponent = ((1u << e.exponent_bits) - 1u) << e.mantissa_bits;
    return static_cast<std::uint8_t>(exponent | 1u << (e.mantissa_bits - 1));
  }
  template <class F>
  static constexpr ScaleChoice<F> e4m3_scale(const ScaleInput<F>& in) {
    const F wanted = in.amax / all<F>(6.f * in.global);
    Word<F> code = encode_magnitude<F>(kE4M3, wanted);
    code = code == all_words<F>(0u) ? all_words<F>(0x38u) : code;
    code = is_nan_lane(wanted) ? all_words<F>(0x7fu) : code;
    return {code, decoding_scale(Sense::kMultiply, decode_magnitude<F>(kE4M3, code), in.global)};
  }
  template <class F>
  static constexpr ScaleChoice<F> power_of_two(const Format& f, const ScaleInput<F>& in) {
    const int emax = floor_log2(max_finite(f.element));
    const auto usable = in.amax > all<F>(0.f) && in.amax < all<F>(kInfinity);
    const F a = usable ? in.amax : all<F>(1.f);
    Int<F> e;
    F power;
    if (kMode == QuarkMode::kEven) {
      // Subnormal maxima have no exponent of their own here: they count as the least.
      e = std::bit_cast<Int<F>>((word_of(in.amax) + (1u << (22 - f.element.mantissa_bits))) >> 23) - 127;
      e = e - emax < -127 ? Int<F>{} - 127 : e - emax;
      e = in.amax == all<F>(kInfinity) ? Int<F>{} + 127 : e;
      power = pow2_lane<F>(e);
    } else {
      e = (kMode == QuarkMode::kFloor ? floor_log2_in(in.source, a) : ceil_log2_in(in.source, a)) - emax;
      // The scale is held in the dtype of the weights, where it may vanish.
      const auto vanishes = e < (in.source == DType::kBf16 ? -133 : in.source == DType::kF16 ? -24 : -149);
      e = ((in.amax == all<F>(0.f)) | vanishes) ? Int<F>{} - 23 : e;
      power = pow2_lane<F>(e);
    }
    const auto known = kMode == QuarkMode::kEven ? in.amax <= all<F>(kInfinity) : in.amax < all<F>(kInfinity);
    const Word<F> byte = std::bit_cast<Word<F>>((e < -126 ? Int<F>{} - 126 : e) + 127);
    return {known ? byte : all_words<F>(127u), known ? power : all<F>(kNaN)};
  }
};

inline constexpr WriterOf<QuarkRule<QuarkMode::kEven>> quark{
    {.name = "quark",
     .description = "AMD Quark: NVFP4, FP8, MX with the maximum rounded to the element's mantissa",
     .supports = &QuarkRule<QuarkMode::kEven>::supports}};

}  // namespace tessera::writers
