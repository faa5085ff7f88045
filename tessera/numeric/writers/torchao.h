// torchao: NVFP4 in two levels, MX with four ways to take the exponent, FP8 per tensor and per row. `torchao` takes the
// floor of the exponent, torchao's default; `torchao:ceil`, `:even` and `:rceil` are the other modes. Everything in
// f32; every scale multiplies. Source: pytorch/ao 0.18, prototype/mx_formats and quantization/quantize_;
// tests/data/numerics/torchao_*; spec/checkpoint-dialects.md 2.5.
#pragma once
#include "tessera/numeric/writer.h"

namespace tessera::writers {

enum class TorchaoMode : std::uint8_t { kFloor, kCeil, kEven, kRceil };

// The exponent of a power of two that scales a block with this maximum, as the three integer modes take it: biased by
// 127, before the element's own largest exponent is subtracted. A subnormal maximum counts as 0 or 1.
template <class F>
constexpr Word<F> torchao_exponent(TorchaoMode mode, Element element, F amax) {
  const Word<F> bits = word_of(amax);
  if (mode == TorchaoMode::kFloor) return bits >> 23;
  if (mode == TorchaoMode::kCeil) return (bits + 0x7fffffu) >> 23;
  return (bits + (1u << (22 - element.mantissa_bits))) >> 23;
}

template <TorchaoMode kMode>
struct TorchaoRule {
  static constexpr bool supports(const Format& f) {
    if (f.scale == kE8M0) return f.block == Block{32, 1};
    if (kMode != TorchaoMode::kFloor) return false;
    if (f.scale == kE4M3) return f.block == Block{16, 1};
    return f.scale == kE8M23 && f.element == kE4M3 && f.block.cols == 0;
  }
  static constexpr float global(const Format& f, float amax, DType) { return f.has_global ? amax / 2688.f : 1.f; }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format& f, const ScaleInput<F>& in) {
    if (f.scale == kE4M3) return e4m3_scale(in);
    if (f.scale == kE8M0) return kMode == TorchaoMode::kRceil ? rounded_up(f, in) : exponent(f, in);
    const F s = round_to(in.source, in.amax / all<F>(448.f));
    return {word_of(s), s};
  }
  // NaN: what an all-zero tensor's codes are, whose scales are NaN. A processor's own NaN has a sign; half of the
  // highest exponent is what arithmetic on its bits leaves of the rest: 12 of E2M1.
  static constexpr Encode encode(const Format& f, DType) {
    const std::uint32_t half = f.element.sign_bit() >> 1;
    return {.multiply = f.scale == kE4M3 || kMode == TorchaoMode::kRceil,
            .sign = SignOfZero::kKept,
            .nan_code = static_cast<std::uint8_t>(f.element.sign_bit() | half)};
  }

  // amax / 6 over the global, in [2^-6, 448]; elements are multiplied by (1 / global) / scale.
  template <class F>
  static constexpr ScaleChoice<F> e4m3_scale(const ScaleInput<F>& in) {
    const F wanted = in.amax / all<F>(6.f) / all<F>(in.global);
    const Word<F> code =
        is_nan_lane(wanted) ? all_words<F>(0x7fu) : encode_magnitude<F>(kE4M3, lane_max(wanted, all<F>(0x1p-6f)));
    return {code, all<F>(1.f / in.global) / decode_magnitude<F>(kE4M3, code)};
  }

 private:
  template <class F>
  static constexpr ScaleChoice<F> exponent(const Format& f, const ScaleInput<F>& in) {
    const auto emax = static_cast<std::uint32_t>(floor_log2(max_finite(f.element)));
    const Word<F> e = torchao_exponent(kMode, f.element, in.amax);
    Word<F> byte = e > all_words<F>(emax) ? e - emax : all_words<F>(0u);
    byte = is_nan_lane(in.amax) ? all_words<F>(255u) : byte;
    // The divisor is the byte as an exponent of f32, but never subnormal: a block with byte 0 is divided by twice what
    // it decodes with, one with 255 by infinity.
    return {byte, byte < all_words<F>(2u) ? all<F>(0x1p-126f) : float_of<F>(byte << 23)};
  }
  // amax over the largest number, its log2 rounded up; elements are multiplied by the power's inverse, by 1 where the
  // byte is 0.
  template <class F>
  static constexpr ScaleChoice<F> rounded_up(const Format& f, const ScaleInput<F>& in) {
    const F v = in.amax / all<F>(max_finite(f.element));
    const auto usable = v > all<F>(0.f) && v < all<F>(kInfinity);
    const Int<F> e = ceil_log2_f32(usable ? v : all<F>(1.f));
    const Int<F> low = e < -127 ? Int<F>{} - 127 : e;
    Word<F> byte = usable ? std::bit_cast<Word<F>>(low + 127) : all_words<F>(0u);
    byte = v == all<F>(kInfinity) ? all_words<F>(254u) : byte;
    byte = is_nan_lane(v) ? all_words<F>(255u) : byte;
    const F inverse = all<F>(1.f) / decode_e8m0<F>(byte);
    return {byte, byte == all_words<F>(0u) ? all<F>(1.f) : inverse};
  }
};

inline constexpr WriterOf<TorchaoRule<TorchaoMode::kFloor>> torchao{
    {.name = "torchao",
     .description = "torchao: NVFP4, FP8, MX with the floor of the exponent",
     .supports = &TorchaoRule<TorchaoMode::kFloor>::supports}};

}  // namespace tessera::writers
