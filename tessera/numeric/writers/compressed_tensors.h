// compressed-tensors / llm-compressor from 0.15 on. Statistics live in the dtype of the weights, so for bf16 models the
// global and the quotients amax/6, amax/448 are rounded to bf16. Globals divide.
// Source: vllm-project/compressed-tensors 0.19, quantization/utils/helpers.py and compressors/; measured vectors in
// tests/data/numerics/ct_*; spec/checkpoint-dialects.md 2.1-2.3.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

// kLegacy: releases up to 0.14, which wrote a global that is not finite as it came.
template <bool kLegacy>
struct CompressedTensorsRule {
  static constexpr float smallest_normal(DType source) { return source == DType::kF16 ? 0x1p-14f : 0x1p-126f; }
  static constexpr float epsilon(DType source) {
    return source == DType::kBf16 ? 0x1p-7f : source == DType::kF16 ? 0x1p-10f : 0x1p-23f;
  }
  static constexpr bool supports(const Format& f) {
    if (f.scale == kE4M3) return f.block == Block{16, 1};
    if (f.scale == kE8M0) return f.element.bits() != 6;
    return f.scale == kE8M23;
  }

  // 2688 / amax: a number over a tensor is its reciprocal times the number, each rounded to the dtype of the weights.
  static constexpr float global(const Format& f, float amax, DType source) {
    if (!f.has_global) return 1;
    const float least = kLegacy ? 0.f : smallest_normal(source);
    const float a = amax < least ? least : amax;
    const float g = round_to(source, 2688.f * round_to(source, a == 0 ? kInfinity : 1.f / a));
    return kLegacy || is_finite(g) ? g : 1.f;
  }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    if (f.scale == kE4M3) return e4m3_scale(in);
    if (f.scale == kE8M0) return power_of_two(f, in);
    const F quotient = round_to(in.source, in.amax / all<F>(max_finite(f.element)));
    const F s = quotient == all<F>(0.f) ? all<F>(epsilon(in.source)) : quotient;
    return {word_of(s), s};
  }

  static constexpr Encode encode(const Format& f, DType) {
    const bool fp8 = f.scale == kE8M23;
    return {.round_quotient = fp8, .nan_code = 0};
  }

 private:
  template <class F>
  static constexpr ScaleChoice<F> e4m3_scale(const ScaleInput<F>& in) {
    const F wanted = all<F>(in.global) * round_to(in.source, in.amax / all<F>(6.f));
    Word<F> code = encode_magnitude<F>(kE4M3, wanted);
    code = code == all_words<F>(0u) ? all_words<F>(0x20u) : code;  // a zero block, or underflow: 0.125
    code = is_nan_lane(wanted) ? all_words<F>(0x7fu) : code;
    return {code, decoding_scale(Sense::kDivide, decode_magnitude<F>(kE4M3, code), in.global)};
  }

  // The power of two at or under amax, or the next one where the mantissa is 1.75 or more, over 2^emax of the element.
  template <class F>
  static constexpr ScaleChoice<F> power_of_two(const Format& f, const ScaleInput<F>& in) {
    const auto emax = static_cast<std::uint32_t>(floor_log2(max_finite(f.element)));
    Word<F> exponent = (word_of(in.amax) + (1u << 21)) >> 23;
    if (in.source == DType::kF16) {
      // f16's own subnormals have no exponent to round: they count as zero, but for those from 0.75 * 2^-14 up, which
      // round up to it.
      exponent = in.amax < all<F>(0x1p-14f)
                     ? (in.amax < all<F>(0.75f * 0x1p-14f) ? all_words<F>(0u) : all_words<F>(113u))
                     : exponent;
    }
    Word<F> byte = exponent > all_words<F>(emax) ? exponent - emax : all_words<F>(0u);
    byte = exponent >= all_words<F>(255u) ? all_words<F>(127u) : byte;
    // An exponent of 255 is infinity to its exporter, which divides by it and stores 127.
    F operand = exponent >= all_words<F>(255u) ? all<F>(kInfinity) : decode_e8m0<F>(byte);
    if (in.source == DType::kF16) {  // the scale itself is held in f16, where it may vanish: then it is 1
      const auto vanished = operand <= all<F>(0x1p-25f);
      byte = vanished ? all_words<F>(127u) : byte;
      operand = vanished ? all<F>(1.f) : operand;
    }
    return {byte, operand};
  }
};

inline constexpr WriterOf<CompressedTensorsRule<false>> compressed_tensors{
    {.name = "compressed-tensors",
     .description = "compressed-tensors 0.15 and later (llm-compressor)",
     .supports = &CompressedTensorsRule<false>::supports,
     .sense = Sense::kDivide,
     .scales_in_source = true}};

}  // namespace tessera::writers
