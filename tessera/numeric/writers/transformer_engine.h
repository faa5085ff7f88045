// NVIDIA Transformer Engine, as it quantizes for training: NVFP4 with the tensor's maximum as global (law 3's fourth
// order), MXFP8, FP8 with current scaling and in blocks of 1x128 and 128x128. Elements are multiplied by an encoding
// scale and the inverse is stored. By recipe the scales of FP8 blocks are powers of two and those of whole tensors are
// not; `transformer-engine:pow2` and `:fp32` are the recipes' switches. Its own maximum leaves NaNs out: whoever wants
// that passes such maxima. Source: NVIDIA/TransformerEngine 2.x, common/recipe, common/cast (spec/training-numerics.md
// 1.2-1.5); tests/data/numerics/te_*.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

enum class TePowers : std::uint8_t { kByRecipe, kAlways, kNever };

template <TePowers kPowers>
struct TransformerEngineRule {
  static constexpr float kMost = 0x1.fffffep+127f;

  static constexpr bool supports(const Format& f) {
    if (f.scale == kE8M23) return f.element.bits() == 8 && (f.block.cols == 128 || f.block == Block{0, 0});
    if (kPowers != TePowers::kByRecipe) return false;
    if (f.scale == kE4M3) return f.block.cols == 16;
    return f.scale == kE8M0 && f.element.bits() == 8 && f.block == Block{32, 1};
  }
  static constexpr float global(const Format& f, float amax, DType) { return f.has_global ? amax : 1.f; }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    if (f.scale == kE4M3) return e4m3_scale(in);
    if (f.scale == kE8M0) return power_of_two(f, in);
    const bool block = f.block.cols != 0;
    const bool power = kPowers == TePowers::kAlways || (kPowers == TePowers::kByRecipe && block);
    const auto usable = in.amax > all<F>(0.f) && in.amax < all<F>(kInfinity);
    F s = all<F>(max_finite(f.element)) / (usable ? in.amax : all<F>(1.f));
    s = s < all<F>(kInfinity) ? s : all<F>(block ? largest(in.source) : kMost);
    if (power) s = float_of<F>(word_of(s) & 0xff800000u);
    s = usable ? s : all<F>(1.f);
    return {word_of(all<F>(1.f) / s), s};
  }
  static constexpr Encode encode(const Format&, DType) {
    return {.multiply = true, .sign = SignOfZero::kKept, .nan_code = 7};
  }

 private:
  static constexpr float largest(DType source) {
    return source == DType::kBf16 ? 0x1.fep+127f : source == DType::kF16 ? 65504.f : kMost;
  }

  // The tensor's encoding scale; 1 where there is none.
  static constexpr float encoding(float amax) {
    if (is_nan(amax)) return kMost;
    const float s = amax == 0 ? 1.f : 2688.f / amax;
    return s == 0 ? 1.f : s < kMost ? s : kMost;
  }
  template <class F>
  static constexpr ScaleChoice<F> e4m3_scale(const ScaleInput<F>& in) {
    const float whole = encoding(in.global);
    const F product = in.amax * all<F>(whole * (1.f / 6.f));
    const F wanted = product < all<F>(kMost) ? product : all<F>(kMost);
    const Word<F> code = encode_magnitude<F>(kE4M3, wanted);
    const F s = all<F>(1.f) / (decode_magnitude<F>(kE4M3, code) * all<F>(1.f / whole));
    return {code, s < all<F>(kMost) ? s : all<F>(kMost)};
  }
  // amax times the rounded reciprocal of the largest number, up to a power of two; elements are multiplied by its
  // inverse.
  template <class F>
  static constexpr ScaleChoice<F> power_of_two(const Format& f, const ScaleInput<F>& in) {
    const F v = in.amax * all<F>(1.f / max_finite(f.element));
    const Word<F> bits = word_of(v);
    Word<F> byte = (bits + 0x7fffffu) >> 23;
    byte = bits <= all_words<F>(0x00400000u) ? all_words<F>(0u) : byte;
    byte = byte > all_words<F>(254u) ? all_words<F>(254u) : byte;
    byte = is_nan_lane(v) ? all_words<F>(255u) : byte;
    return {byte, all<F>(1.f) / decode_e8m0<F>(byte)};
  }
};

inline constexpr WriterOf<TransformerEngineRule<TePowers::kByRecipe>> transformer_engine{
    {.name = "transformer-engine",
     .description = "NVIDIA Transformer Engine's recipes",
     .supports = &TransformerEngineRule<TePowers::kByRecipe>::supports,
     .sense = Sense::kMaximum}};

}  // namespace tessera::writers
