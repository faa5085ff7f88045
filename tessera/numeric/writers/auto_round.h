// AutoRound with plain rounding (its default since 0.15 searches scales): NVFP4 whose global is a reciprocal that comes
// first, MX with the floor of the exponent or, as `auto-round:rceil`, amax over the largest number rounded up, FP8 per
// tensor, channel and block. Codes come of the weight that it has rounded in memory: nothing that is zero there has a
// sign, but in MX. Source: intel/auto-round 0.15.1, data_type/ and export/; tests/data/numerics/autoround_*;
// spec/checkpoint-dialects.md 2.6.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

enum class AutoRoundMode : std::uint8_t { kFloor, kRceil };

template <AutoRoundMode kMode>
struct AutoRoundRule {
  static constexpr float kLeastScale = 1.f / (448.f * 512.f);

  static constexpr bool supports(const Format& f) {
    if (f.scale == kE8M0) return f.block == Block{32, 1} && f.element.bits() != 6;
    if (kMode != AutoRoundMode::kFloor) return false;
    if (f.scale == kE4M3) return f.block == Block{16, 1};
    return f.scale == kE8M23 && f.element == kE4M3;
  }
  template <class F>
  static constexpr F inverse(F x) {
    return x == all<F>(0.f) ? all<F>(0.f) : all<F>(1.f) / x;
  }
  static constexpr float global(const Format& f, float amax, DType) {
    return f.has_global ? 2688.f * inverse<float>(amax) : 1.f;
  }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    if (f.scale == kE4M3) return e4m3_scale(in);
    if (f.scale == kE8M0) return power_of_two(f, in);
    const bool block = f.block.cols != 0;
    F s = in.amax / all<F>(448.f);
    if (block) s = round_to(in.source, s);
    s = lane_max(s, all<F>(kLeastScale));
    return {word_of(round_to(in.source, s)), s < all<F>(kInfinity) ? s : all<F>(kNaN)};
  }
  static constexpr Encode encode(const Format& f, DType source) {
    const bool mx = f.scale == kE8M0;
    const bool halves = mx && source == DType::kF32;  // numbers of 16 bits are never that close to a tie
    return {.multiply = f.scale == kE4M3,
            .round_quotient = f.scale == kE8M23 && f.block.cols != 0,
            .ties = halves ? Ties::kHalfAdded : Ties::kEven,
            .sign = mx ? SignOfZero::kMinusZeroOff : SignOfZero::kDropped,
            .nan_code = 0};
  }

 private:
  template <class F>
  static constexpr ScaleChoice<F> e4m3_scale(const ScaleInput<F>& in) {
    const F wanted = all<F>(in.global) * (in.amax * all<F>(1.f / 6.f));
    const Word<F> code = is_nan_lane(wanted) ? all_words<F>(0x7fu) : encode_magnitude<F>(kE4M3, wanted);
    return {code, inverse(decode_magnitude<F>(kE4M3, code) * all<F>(inverse<float>(in.global)))};
  }
  template <class F>
  static constexpr ScaleChoice<F> power_of_two(const Format& f, const ScaleInput<F>& in) {
    const auto zero = in.amax == all<F>(0.f);
    const auto finite = in.amax < all<F>(kInfinity);
    Int<F> e;
    auto known = finite;
    if (kMode == AutoRoundMode::kRceil) {
      const F v = in.amax / all<F>(max_finite(f.element));
      const auto usable = v > all<F>(0.f) && v < all<F>(kInfinity);
      e = ceil_log2_f32(usable ? v : all<F>(1.f));
      e = zero ? Int<F>{} + 1 : e;
      known = usable || zero;  // the log2 of a quotient that vanishes is no number to scale with
    } else {
      const F a = finite && !zero ? in.amax : all<F>(2.f);
      e = floor_log2(a) - floor_log2(max_finite(f.element));
    }
    const Word<F> byte = std::bit_cast<Word<F>>((e < -127 ? Int<F>{} - 127 : e) + 127);
    return {known ? byte : all_words<F>(0u), known ? decode_e8m0<F>(byte) : all<F>(kNaN)};
  }
};

inline constexpr WriterOf<AutoRoundRule<AutoRoundMode::kFloor>> auto_round{
    {.name = "auto-round",
     .description = "AutoRound",
     .supports = &AutoRoundRule<AutoRoundMode::kFloor>::supports,
     .sense = Sense::kReciprocalFirst,
     .scales_in_source = true}};

}  // namespace tessera::writers
