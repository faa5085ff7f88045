// FP8 (E4M3) with an f32 scale per 128 elements of a row.
// Source: DeepSeek-V3 technical report, section 3.3.2.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format fp8_1x128{
    .name = "fp8_1x128", .element = kE4M3, .block = {128, 1}, .scale = kE8M23, .has_global = false};
}
