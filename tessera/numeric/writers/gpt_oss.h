// triton_kernels' downcast_to_mxfp, which makes and reads gpt-oss's experts: MXFP4 and MXFP8 by exact arithmetic on
// exponents. `gpt-oss` rounds amax over the largest number up, its default; `gpt-oss:floor` takes the floor of the
// exponent. Source: triton-lang/triton, python/triton_kernels (numerics_details/mxfp); spec/checkpoint-dialects.md 2.8.
// It needs a GPU: no bytes of its own were at hand.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

enum class GptOssMode : std::uint8_t { kUp, kFloor };

template <GptOssMode kMode>
struct GptOssRule {
  static constexpr bool supports(const Format& f) {
    return f.scale == kE8M0 && f.block == Block{32, 1} && f.element.bits() != 6;
  }
  static constexpr float global(const Format&, float, DType) { return 1; }

  // The exponent's bits of f32 are the byte; a scale under 2^-126 has none, and its elements are multiplied by 0.
  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    const float most = max_finite(f.element);
    const bool up = kMode == GptOssMode::kUp;
    const F v = in.amax / all<F>(up ? most : pow2(floor_log2(most)));
    const Word<F> byte = ((word_of(v) + (up ? 0x7fffffu : 0u)) >> 23) & 0xffu;
    const F power = float_of<F>(byte << 23);
    return {byte, byte == all_words<F>(0u) ? all<F>(0.f) : all<F>(1.f) / power};
  }
  static constexpr Encode encode(const Format&, DType) {
    return {.multiply = true, .sign = SignOfZero::kKept, .nan_code = 7};
  }
};

inline constexpr WriterOf<GptOssRule<GptOssMode::kUp>> gpt_oss{
    {.name = "gpt-oss",
     .description = "triton_kernels (gpt-oss): MX with amax over the largest number rounded up",
     .supports = &GptOssRule<GptOssMode::kUp>::supports}};

}  // namespace tessera::writers
