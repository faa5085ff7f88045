// comfy-kitchen, ComfyUI's quantizer: NVFP4 whose global is rounded to the dtype of the weights, MXFP8, FP8 per tensor.
// Every scale multiplies. Source: Comfy-Org/comfy-kitchen 0.2.40, its eager backend; tests/data/numerics/comfy_*;
// spec/checkpoint-dialects.md 2.7.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

struct ComfyRule {
  static constexpr bool supports(const Format& f) {
    if (f.scale == kE8M0) return f.block == Block{32, 1} && f.element == kE4M3;
    if (f.scale == kE4M3) return f.block == Block{16, 1};
    return f.scale == kE8M23 && f.block == Block{0, 0};
  }
  static constexpr float global(const Format& f, float amax, DType source) {
    return f.has_global ? round_to(source, amax / 2688.f) : 1.f;
  }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    if (f.scale == kE4M3) return e4m3_scale(in);
    if (f.scale == kE8M0) return power_of_two(f, in);
    const F s = round_to(in.source, in.amax / all<F>(max_finite(f.element)));
    return {word_of(s), round_to(in.source, all<F>(1.f) / s)};
  }
  // NaN: what an all-zero tensor's codes are, whose scales are NaN.
  static constexpr Encode encode(const Format& f, DType) {
    const bool fp8 = f.scale == kE8M23;
    return {
        .multiply = fp8, .round_quotient = fp8, .sign = SignOfZero::kKept, .nan_code = 12, .infinite_is_zero = !fp8};
  }

 private:
  template <class F>
  static constexpr ScaleChoice<F> e4m3_scale(const ScaleInput<F>& in) {
    const F wanted = in.amax / all<F>(6.f) / all<F>(in.global);
    const Word<F> code = is_nan_lane(wanted) ? all_words<F>(0x7fu) : encode_magnitude<F>(kE4M3, wanted);
    const F s = decoding_scale(Sense::kMultiply, decode_magnitude<F>(kE4M3, code), in.global);
    return {code, s == all<F>(0.f) ? all<F>(kInfinity) : s};
  }
  template <class F>
  static constexpr ScaleChoice<F> power_of_two(const Format& f, const ScaleInput<F>& in) {
    const F v = lane_max(in.amax / all<F>(max_finite(f.element)), all<F>(0x1p-127f));
    const auto usable = v > all<F>(0.f) && v < all<F>(kInfinity);
    const Int<F> e = ceil_log2_f32(usable ? v : all<F>(1.f));
    Word<F> byte = usable ? std::bit_cast<Word<F>>(e + 127) : all_words<F>(0u);
    const F operand = byte == all_words<F>(0u) ? all<F>(0.f) : decode_e8m0<F>(byte);
    return {byte, in.amax == all<F>(0.f) ? all<F>(kInfinity) : operand};
  }
};

inline constexpr WriterOf<ComfyRule> comfy{
    {.name = "comfy", .description = "comfy-kitchen (ComfyUI)", .supports = &ComfyRule::supports}};

}  // namespace tessera::writers
