// LTX-2's own FP8: an encoding scale 448 / amax multiplies the weight, its inverse is stored. Its NVFP4 is
// comfy-kitchen's. Source: Lightricks/LTX-2, quantization; spec/checkpoint-dialects.md 2.7. No bytes of its FP8 were at
// hand.
#pragma once
#include "tessera/numeric/writers/comfy.h"

namespace tessera::writers {

struct Ltx2Rule {
  static constexpr bool supports(const Format& f) { return f.scale != kE8M0 && ComfyRule::supports(f); }
  static constexpr float global(const Format& f, float amax, DType source) {
    return ComfyRule::global(f, amax, source);
  }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    if (f.scale == kE4M3) return ComfyRule::scale(f, in);
    const F encoding = all<F>(max_finite(f.element)) / in.amax;
    return {word_of(all<F>(1.f) / encoding), encoding};
  }
  static constexpr Encode encode(const Format& f, DType source) {
    if (f.scale == kE4M3) return ComfyRule::encode(f, source);
    return {.multiply = true, .sign = SignOfZero::kKept};
  }
};

inline constexpr WriterOf<Ltx2Rule> ltx2{{.name = "ltx2", .description = "LTX-2", .supports = &Ltx2Rule::supports}};

}  // namespace tessera::writers
