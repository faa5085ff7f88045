// NVFP4 with blocks of 32, as NVIDIA Model Optimizer writes for its W4A8_NVFP4_FP8 scheme. 4.25 bits an element.
// Source: spec of the exporter's files: docs/formats/modelopt.md.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format nvfp4_32{
    .name = "nvfp4_32", .element = kE2M1, .block = {32}, .scale = kE4M3, .has_global = true};
}
