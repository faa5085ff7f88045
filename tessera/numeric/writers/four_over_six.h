// NVFP4 where each block maps its maximum to 6 or to 4, whichever leaves the smaller sum of absolute errors; 6 on a
// tie. The tensor's range is 6 * 256, so that a scale can grow by half and stay under 448. Source: NVIDIA
// TransformerEngine, NVFP4 4over6 (spec/training-numerics.md 1.5.5): amax / 6 first, then times the encoding scale;
// errors in the original domain, ((code * scale) * amax) / (6 * 256), added in index order in f32.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

struct FourOverSixRule {
  static constexpr int kCandidates = 2;
  static constexpr float kRange = 6.f * 256.f;

  static constexpr bool supports(const Format& f) { return f.scale == kE4M3 && f.block == Block{16, 1}; }
  static constexpr float global(const Format&, float amax, DType) { return amax != 0 ? amax / kRange : 1.f; }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format&, const ScaleInput<F>& in, int candidate) {
    const float encoding = in.tensor_amax == 0 ? 1.f : kRange / in.tensor_amax;
    F base = in.amax / all<F>(6.f) * all<F>(encoding);
    if (candidate == 1) base = base * all<F>(1.5f);
    const Word<F> code = is_nan_lane(base) ? all_words<F>(0x7fu) : encode_magnitude<F>(kE4M3, base);
    const F s = decode_magnitude<F>(kE4M3, code);
    // A block whose scale vanishes decodes to zero: its elements are divided by infinity.
    const F operand = code == all_words<F>(0u) ? all<F>(kInfinity) : decoding_scale(Sense::kMultiply, s, in.global);
    return {code, operand};
  }
  template <class F>
  static constexpr F restored(F code_value, F scale, float tensor_amax) {
    return code_value * scale * tensor_amax / kRange;
  }
  static constexpr Encode encode(const Format&, DType) { return {.sign = SignOfZero::kMinusZeroOff, .nan_code = 7}; }
};

inline constexpr WriterOf<FourOverSixRule> four_over_six{
    {.name = "four-over-six",
     .description = "NVFP4, block maximum to 6 or 4 by least error",
     .supports = &FourOverSixRule::supports,
     .max_rule = false,
     .refuses_non_finite = [](const Format&) { return true; }}};

}  // namespace tessera::writers
