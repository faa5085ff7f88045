// FP8 (E4M3) with an f32 scale a row: per output channel of a weight, per token of an activation.
// Source: OCP 8-bit Floating Point Specification v1.0; docs/formats/compressed-tensors.md for the scale.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format fp8_channel{
    .name = "fp8_channel", .element = kE4M3, .block = {0, 1}, .scale = kE8M23, .has_global = false};
}
