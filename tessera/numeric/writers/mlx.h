// MLX: NVFP4 without a global, MXFP4 and MXFP8. `mlx` rounds the log2 of amax over the largest number to the nearest
// integer, as its CPU and Metal kernels did up to pull request 4353; `mlx:ceil` rounds it up, as its CUDA kernels
// always did and all of them do since. Source: ml-explore/mlx, mlx/backend/{cpu,metal,cuda} (fp_quantize);
// spec/checkpoint-dialects.md 2.8. It does not run here: no bytes of its own were at hand.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

enum class MlxMode : std::uint8_t { kNearest, kCeil };

template <MlxMode kMode>
struct MlxRule {
  static constexpr bool supports(const Format& f) {
    if (f.scale == kE8M0) return f.block == Block{32, 1} && (f.element == kE2M1 || f.element == kE4M3);
    return f.scale == kE4M3 && f.block == Block{16, 1};
  }
  static constexpr float global(const Format&, float, DType) { return 1; }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    const F v = in.amax / all<F>(max_finite(f.element));
    if (f.scale == kE4M3) {
      const Word<F> code = is_nan_lane(v) ? all_words<F>(0x7fu) : encode_magnitude<F>(kE4M3, v);
      const F s = decode_magnitude<F>(kE4M3, code);
      return {code, s == all<F>(0.f) ? all<F>(kInfinity) : s};
    }
    // The square root of two lies between two numbers of f32: from the upper one on, log2 is nearer to the next
    // integer.
    const auto usable = v > all<F>(0.f) && v < all<F>(kInfinity);
    const F a = usable ? v : all<F>(1.f);
    const Int<F> k = floor_log2(a);
    const F mantissa = a / pow2_lane<F>(k);
    const F last = all<F>(kMode == MlxMode::kCeil ? 1.f : 0x1.6a09e6p+0f);
    const Int<F> e = mantissa > last ? k + 1 : k;
    Word<F> byte = std::bit_cast<Word<F>>((e < -127 ? Int<F>{} - 127 : e) + 127);
    byte = usable ? byte : all_words<F>(0u);
    byte = v < all<F>(kInfinity) ? byte : all_words<F>(255u);
    return {byte, decode_e8m0<F>(byte)};
  }
  static constexpr Encode encode(const Format&, DType) {
    return {.sign = SignOfZero::kKept, .nan_code = 0, .infinite_is_zero = true};
  }
};

inline constexpr WriterOf<MlxRule<MlxMode::kNearest>> mlx{
    {.name = "mlx",
     .description = "MLX: NVFP4 without a global, MX with log2 rounded to the nearest integer",
     .supports = &MlxRule<MlxMode::kNearest>::supports}};

}  // namespace tessera::writers
