// Hugging Face transformers' fine-grained FP8: an encoding scale 448 * (1 / amax) multiplies the weight, its inverse is
// stored. Source: huggingface/transformers 5.17, integrations/finegrained_fp8.py; tests/data/numerics/transformers_*;
// spec 2.8.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

struct TransformersRule {
  static constexpr bool supports(const Format& f) {
    return f.element.bits() == 8 && (f.scale == kE8M23 || f.scale == kE8M0) && f.block.cols != 0;
  }
  static constexpr float global(const Format&, float, DType) { return 1; }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    const auto positive = in.amax > all<F>(0.f);  // neither zero nor NaN
    const F divisor = positive ? in.amax : all<F>(1.f);
    const F encoding = positive ? all<F>(max_finite(f.element)) * (all<F>(1.f) / divisor) : all<F>(1.f);
    const F inverse = all<F>(1.f) / encoding;
    if (f.scale == kE8M23) return {word_of(inverse), encoding};
    const auto usable = inverse > all<F>(0.f) && inverse < all<F>(kInfinity);
    const Int<F> e = ceil_log2_f32(usable ? inverse : all<F>(1.f));
    Word<F> byte = std::bit_cast<Word<F>>((e < -127 ? Int<F>{} - 127 : e) + 127);
    byte = usable ? byte : all_words<F>(255u);
    return {byte, all<F>(1.f) / decode_e8m0<F>(byte)};
  }
  static constexpr Encode encode(const Format&, DType) { return {.multiply = true, .sign = SignOfZero::kKept}; }
};

inline constexpr WriterOf<TransformersRule> transformers{{.name = "transformers",
                                                          .description = "Hugging Face transformers, fine-grained FP8",
                                                          .supports = &TransformersRule::supports,
                                                          .whole_blocks_only = true}};

}  // namespace tessera::writers
