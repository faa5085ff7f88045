// AMD Quark's FP8 as a whole model's export has it: the scale is rounded to the dtype of the weights before it divides,
// and so is the quotient. (`quark` is its kernel's own rule, where the scale stays f32.) Source: amd/Quark 0.13,
// torch/export; every FP8 code of tests/data/checkpoints/quantized/quark-qwen2-fp8.
#pragma once
#include "tessera/numeric/writers/quark.h"

namespace tessera::writers {

struct QuarkModelRule {
  static constexpr bool supports(const Format& f) {
    return f.scale == kE8M23 && f.element == kE4M3 && f.block.cols == 0;
  }
  static constexpr float global(const Format&, float, DType) { return 1; }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format&, const ScaleInput<F>& in) {
    const F quotient = round_to(in.source, in.amax / all<F>(448.f));
    const F s = quotient == all<F>(0.f) ? all<F>(QuarkRule<QuarkMode::kEven>::kLeastScale) : quotient;
    return {word_of(s), s};
  }
  static constexpr Encode encode(const Format& f, DType source) {
    return QuarkRule<QuarkMode::kEven>::encode(f, source);
  }
};

inline constexpr WriterOf<QuarkModelRule> quark_model{
    {.name = "quark:model",
     .description = "AMD Quark's FP8 in a model's export: scales and quotients in the dtype of the weights",
     .supports = &QuarkModelRule::supports,
     .scales_in_source = true}};

}  // namespace tessera::writers
