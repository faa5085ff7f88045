// FP8 (E5M2) with one f32 scale for the whole matrix.
// Source: OCP 8-bit Floating Point Specification v1.0; docs/formats/compressed-tensors.md for the scale.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format fp8_e5m2{
    .name = "fp8_e5m2", .element = kE5M2, .block = {0, 0}, .scale = kE8M23, .has_global = false};
}
