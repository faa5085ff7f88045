// FP8 (E4M3) with an f32 scale per square of 128 x 128: the weights of DeepSeek-V3 and its kin.
// Source: DeepSeek-V3 technical report, section 3.3.2.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format fp8_block{
    .name = "fp8_block", .element = kE4M3, .block = {128, 128}, .scale = kE8M23, .has_global = false};
}
