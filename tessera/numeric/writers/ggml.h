// ggml's MXFP4 and NVFP4: the floor of the exponent, respectively amax / 6 in its own unsigned E4M3, and codes by a
// search through the table of values. NVFP4 has no global: it is 1. Source: ggml-org/ggml, src/ggml-quants.c
// (quantize_row_mxfp4_ref, quantize_row_nvfp4_ref), ggml-impl.h (ue4m3); tests/data/numerics/gguf_*,
// tests/data/gguf/blocks; spec/checkpoint-dialects.md 1.16, 2.8.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

struct GgmlRule {
  static constexpr bool supports(const Format& f) {
    return f.element == kE2M1 && f.block.rows == 1 && (f.scale == kE8M0 || (f.scale == kE4M3 && f.block.cols == 16));
  }
  static constexpr float global(const Format&, float, DType) { return 1; }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    if (f.scale == kE8M0) {
      const auto usable = in.amax > all<F>(0.f) && in.amax < all<F>(kInfinity);
      const Int<F> e = floor_log2(usable ? in.amax : all<F>(1.f)) - 2 + 127;
      const Word<F> byte = usable ? std::bit_cast<Word<F>>(e < 0 ? Int<F>{} : e) : all_words<F>(0u);
      return {byte, decode_e8m0<F>(byte)};
    }
    const Word<F> byte = unsigned_e4m3(in.amax / all<F>(6.f));
    return {byte, decode_magnitude<F>(kE4M3, byte)};
  }
  static constexpr Encode encode(const Format&, DType) {
    return {.ties = Ties::kFirst, .sign = SignOfZero::kDropped, .nan_code = 0};
  }

 private:
  // Half a unit rounds up; from 256 on everything is 448, because the top exponent always saturates.
  template <class F>
  static constexpr Word<F> unsigned_e4m3(F x) {
    const Word<F> rounded = (word_of(x) + (1u << 19)) >> 20;
    const Word<F> normal = rounded - (120u << 3);
    const F scaled = x * all<F>(512.f) + all<F>(0.5f);
    const Word<F> small = word_of(scaled + all<F>(0x1p23f) - all<F>(0.5f)) & 0xfu;
    Word<F> code = x < all<F>(0x1p-6f) ? small : normal;
    code = x >= all<F>(256.f) ? all_words<F>(0x7eu) : code;
    return x > all<F>(0.f) ? code : all_words<F>(0u);
  }
};

inline constexpr WriterOf<GgmlRule> ggml{
    {.name = "ggml", .description = "ggml / GGUF", .supports = &GgmlRule::supports}};

}  // namespace tessera::writers
