// The format's own rule, with nearest rounding: NVFP4 as Model Optimizer, MX as compressed-tensors, FP8 amax / 448 in
// f32; any other scale the maximum over the largest code's number, to nearest. An all-zero block or tensor gets scales
// that decode to zero and never a NaN. Source: docs/design/writers.md.
#pragma once
#include "tessera/numeric/writers/compressed_tensors.h"
#include "tessera/numeric/writers/modelopt.h"

namespace tessera::writers {

struct NearestRule {
  static constexpr bool supports(const Format& f) { return f.is_scaled() && (!f.has_global || f.scale == kE4M3); }
  static constexpr float global(const Format& f, float amax, DType source) {
    return f.has_global && amax != 0 ? ModeloptRule::global(f, amax, source) : 1.f;
  }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    if (f.scale == kE4M3) return ModeloptRule::scale(f, in);
    if (f.scale == kE8M0) {
      const ScaleInput<F> wide{in.amax, in.global, in.tensor_amax, DType::kF32};
      return CompressedTensorsRule<false>::scale(f, wide);
    }
    if (f.scale != kE8M23) {
      // A scale that rounds to zero would lose the block: it is at least the smallest code.
      const F least = all<F>(decode(f.scale, 1)), wanted = in.amax / all<F>(max_finite(f.element));
      const Word<F> code =
          is_nan_lane(wanted) ? all_words<F>(nan_code(f.scale)) : encode_magnitude<F>(f.scale, lane_max(wanted, least));
      return {code, decode_magnitude<F>(f.scale, code)};
    }
    // Under 2^-126 the quotient would lose bits; there the smallest normal number serves.
    const F quotient = lane_max(in.amax / all<F>(max_finite(f.element)), all<F>(0x1p-126f));
    const F s = in.amax == all<F>(0.f) ? all<F>(1.f) : quotient;
    return {word_of(s), s};
  }
  static constexpr Encode encode(const Format&, DType) { return {.sign = SignOfZero::kMinusZeroOff, .nan_code = 7}; }
};

inline constexpr WriterOf<NearestRule> nearest{{.name = "nearest",
                                                .description = "the format's own rule, nearest, ties to even",
                                                .supports = &NearestRule::supports,
                                                .refuses_non_finite = [](const Format&) { return true; }}};

}  // namespace tessera::writers
