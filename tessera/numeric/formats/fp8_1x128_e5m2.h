// FP8 (E5M2) with an f32 scale per 128 elements of a row.
// Source: DeepSeek-V3 technical report, section 3.3.2.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format fp8_1x128_e5m2{
    .name = "fp8_1x128_e5m2", .element = kE5M2, .block = {128, 1}, .scale = kE8M23, .has_global = false};
}
