// NVIDIA Model Optimizer, max calibration ("dynamic" block scales). Everything in f32; every scale multiplies.
// Source: NVIDIA/Model-Optimizer 0.47, torch/quantization/qtensor/; measured vectors in tests/data/numerics/modelopt_*;
// spec/checkpoint-dialects.md 2.4.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

struct ModeloptRule {
  static constexpr bool supports(const Format& f) {
    if (f.scale == kE4M3) return f.block.rows == 1;
    return (f.scale == kE8M0 || f.scale == kE8M23) && (f.element == kE2M1 || f.element == kE4M3);
  }
  static constexpr bool is_per_tensor(const Format& f) { return f.block == Block{0, 0}; }
  static constexpr bool refuses_non_finite(const Format& f) { return f.scale != kE8M0; }

  // amax / (6 * 448), so that the largest block scale is 448; amax / 448 for blocks of 32 (its W4A8 scheme).
  static constexpr float global(const Format& f, float amax, DType) {
    if (!f.has_global) return 1;
    return amax / (f.block.cols == 32 ? 448.f : 2688.f);
  }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    if (f.scale == kE4M3) {
      const F wanted = in.amax / all<F>(6.f * in.global);
      return clamped_scale(wanted == all<F>(0.f) ? all<F>(1.f) : wanted, in.global);
    }
    if (f.scale == kE8M0) return f.element == kE2M1 ? fp4_power(in) : fp8_power(f, in);
    F a = in.amax;
    if (!is_per_tensor(f)) {  // the sanitizer of its exporter, which per-tensor scales do not pass
      a = a == all<F>(0.f) || is_nan_lane(a) ? all<F>(448.f) : lane_max(a, all<F>(0x1p-126f));
    }
    const F s = a / all<F>(448.f);
    return {word_of(s), s};
  }

  static constexpr Encode encode(const Format& f, DType) {
    if (f.scale == kE8M0 && f.element == kE2M1)
      return {.ties = Ties::kTowardZero, .sign = SignOfZero::kSetOnZero, .nan_code = 8};
    if (f.element == kE2M1) return {.sign = SignOfZero::kMinusZeroOff, .nan_code = 7};
    if (f.scale == kE8M0) return {.sign = SignOfZero::kKept};
    return {.round_quotient = is_per_tensor(f), .sign = SignOfZero::kKept};
  }

  // `wanted` clamped to [2^-9, 448].
  template <class F>
  static constexpr ScaleChoice<F> clamped_scale(F wanted, float global) {
    const F s = lane_max(wanted, all<F>(0x1p-9f));
    const Word<F> code = is_nan_lane(wanted) ? all_words<F>(0x7fu) : encode_magnitude<F>(kE4M3, s);
    return {code, decoding_scale(Sense::kMultiply, decode_magnitude<F>(kE4M3, code), global)};
  }

 private:
  template <class F>
  static constexpr ScaleChoice<F> fp4_power(const ScaleInput<F>& in) {
    const F v = in.amax / all<F>(6.f);
    const auto usable = v > all<F>(0.f) && v < all<F>(kInfinity);
    const Int<F> e = ceil_log2_f32(usable ? v : all<F>(1.f));
    const Int<F> low = e < -127 ? Int<F>{} - 127 : e;
    const Word<F> byte = usable ? std::bit_cast<Word<F>>(low + 127) : all_words<F>(0u);
    // A maximum that is not finite is stored as byte 0, but divides as infinity.
    return {byte, in.amax < all<F>(kInfinity) ? decode_e8m0<F>(byte) : all<F>(kInfinity)};
  }
  template <class F>
  static constexpr ScaleChoice<F> fp8_power(const Format& f, const ScaleInput<F>& in) {
    const F v = in.amax / all<F>(max_finite(f.element));
    const auto usable = v > all<F>(0.f) && v < all<F>(kInfinity);
    const Int<F> e = ceil_log2_f32(usable ? v : all<F>(1.f));
    const Int<F> low = e < -127 ? Int<F>{} - 127 : e;
    Word<F> byte = usable ? std::bit_cast<Word<F>>(low + 127) : all_words<F>(0u);
    byte = v == all<F>(kInfinity) ? all_words<F>(254u) : byte;
    return {byte, decode_e8m0<F>(byte)};
  }
};

inline constexpr WriterOf<ModeloptRule> modelopt{{.name = "modelopt",
                                                  .description = "NVIDIA Model Optimizer, max calibration",
                                                  .supports = &ModeloptRule::supports,
                                                  .refuses_non_finite = &ModeloptRule::refuses_non_finite}};

}  // namespace tessera::writers
