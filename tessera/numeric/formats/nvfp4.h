// NVFP4: E2M1 codes, an E4M3 scale per 16 elements, an f32 scale per tensor. 4.5 bits an element.
// Source: NVIDIA Transformer Engine user guide, "NVFP4"; cuBLAS 13 manual, "Narrow precision data types".
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format nvfp4{.name = "nvfp4", .element = kE2M1, .block = {16}, .scale = kE4M3, .has_global = true};
}
