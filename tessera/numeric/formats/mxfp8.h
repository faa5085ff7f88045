// MXFP8 (E4M3): a power-of-two scale per 32 elements. 8.25 bits an element.
// Source: OCP Microscaling Formats (MX) v1.0, section 5.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format mxfp8{.name = "mxfp8", .element = kE4M3, .block = {32}, .scale = kE8M0, .has_global = false};
}
