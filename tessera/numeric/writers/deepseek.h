// DeepSeek's and DeepGEMM's block FP8: scale = max(amax, 1e-4) / 448, taken up to a power of two before dividing where
// the scale is E8M0. Source: deepseek-ai/DeepGEMM, utils/math.py (per_block_cast_to_fp8);
// spec/checkpoint-dialects.md 2.8.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

struct DeepseekRule {
  static constexpr bool supports(const Format& f) {
    return f.element.bits() == 8 && (f.scale == kE8M23 || f.scale == kE8M0) && f.block.cols != 0;
  }
  static constexpr float global(const Format&, float, DType) { return 1; }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    const F s = lane_max(in.amax, all<F>(1e-4f)) / all<F>(max_finite(f.element));
    if (f.scale == kE8M23) return {word_of(s), s};
    const auto usable = s < all<F>(kInfinity);
    // The exponent of s, one more where any mantissa bit is set: an exact ceiling, as DeepGEMM's bit arithmetic takes
    // it.
    const F finite = usable ? s : all<F>(1.f);
    const Word<F> up = (word_of(finite) + 0x7fffffu) >> 23;
    const Word<F> byte = usable ? up : all_words<F>(254u);
    return {byte, decode_e8m0<F>(byte)};
  }
  static constexpr Encode encode(const Format&, DType) { return {.sign = SignOfZero::kKept}; }
};

inline constexpr WriterOf<DeepseekRule> deepseek{
    {.name = "deepseek", .description = "DeepSeek / DeepGEMM block FP8", .supports = &DeepseekRule::supports}};

}  // namespace tessera::writers
