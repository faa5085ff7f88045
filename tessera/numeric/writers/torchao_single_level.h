// torchao's NVFP4 without a tensor scale: block scales are amax / 6 in [2^-6, 448], and the global is 1.
// Source: as torchao.h (per_tensor_scale is None); tests/data/numerics/torchao_nvfp4_single_level.
#pragma once
#include "tessera/numeric/writers/torchao.h"

namespace tessera::writers {

struct TorchaoSingleLevelRule {
  using Rule = TorchaoRule<TorchaoMode::kFloor>;
  static constexpr bool supports(const Format& f) { return f.has_global && Rule::supports(f); }
  static constexpr float global(const Format&, float, DType) { return 1; }
  template <class F>
  static constexpr ScaleChoice<F> scale(const Format&, const ScaleInput<F>& in) {
    return Rule::e4m3_scale(in);
  }
  static constexpr Encode encode(const Format& f, DType source) { return Rule::encode(f, source); }
};

inline constexpr WriterOf<TorchaoSingleLevelRule> torchao_single_level{
    {.name = "torchao:single-level",
     .description = "torchao, NVFP4 without a tensor scale (a global of 1)",
     .supports = &TorchaoSingleLevelRule::supports}};

}  // namespace tessera::writers
