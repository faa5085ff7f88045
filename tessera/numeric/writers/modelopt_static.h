// NVIDIA Model Optimizer with given block maxima (its MSE, GPTQ and four-over-six calibrations choose them): NVFP4
// only. A zero block's scale is 1 before it is brought to the tensor's range, so it often ends at 448. Source:
// NVIDIA/Model-Optimizer 0.47, nvfp4_tensor.py, static path; tests/data/numerics/modelopt_nvfp4_static; spec 2.4.
#pragma once
#include "tessera/numeric/writers/modelopt.h"

namespace tessera::writers {

struct ModeloptStaticRule {
  static constexpr bool supports(const Format& f) { return f.scale == kE4M3 && f.block == Block{16, 1}; }
  static constexpr float global(const Format& f, float amax, DType source) {
    return ModeloptRule::global(f, amax, source);
  }

  template <class F>
  static constexpr ScaleChoice<F> scale(const Format&, const ScaleInput<F>& in) {
    const F sixth = in.amax / all<F>(6.f);
    const F own = sixth == all<F>(0.f) ? all<F>(1.f) : sixth;
    const F wanted = own * all<F>(448.f) / all<F>(in.tensor_amax / 6.f);
    return ModeloptRule::clamped_scale(wanted, in.global);
  }
  static constexpr Encode encode(const Format& f, DType source) { return ModeloptRule::encode(f, source); }
};

inline constexpr WriterOf<ModeloptStaticRule> modelopt_static{
    {.name = "modelopt-static",
     .description = "NVIDIA Model Optimizer, given block maxima",
     .supports = &ModeloptStaticRule::supports,
     .refuses_non_finite = &ModeloptRule::refuses_non_finite}};

}  // namespace tessera::writers
