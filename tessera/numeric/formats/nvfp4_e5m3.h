// NVFP4 without a global: E2M1 codes, a UE5M3 scale per 16 elements, whose range does for both. 4.5 bits an element.
// Source: intel/auto-round 0.15, "NVFP4_E5M3" (data_type/nvfp.py); docs/formats/auto-round.md.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format nvfp4_e5m3{.name = "nvfp4_e5m3", .element = kE2M1, .block = {16}, .scale = kUE5M3};
}
