// NVFP4 whose scales are shared by 16 rows, so that a weight and its transpose have the same codes.
// Source: NVIDIA Transformer Engine user guide, "NVFP4", 2D block scaling.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format nvfp4_square{
    .name = "nvfp4_square", .element = kE2M1, .block = {16, 16}, .scale = kE4M3, .has_global = true};
}
