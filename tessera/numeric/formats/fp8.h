// FP8 (E4M3) with one f32 scale for the whole matrix.
// Source: OCP 8-bit Floating Point Specification v1.0; docs/formats/compressed-tensors.md for the scale.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format fp8{.name = "fp8", .element = kE4M3, .block = {0, 0}, .scale = kE8M23, .has_global = false};
}
