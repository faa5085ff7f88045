// MXFP6 with two bits of exponent: E2M3 codes, a power-of-two scale per 32 elements. 6.25 bits an element.
// Source: OCP Microscaling Formats (MX) v1.0, section 5.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format mxfp6_e2m3{.name = "mxfp6_e2m3", .element = kE2M3, .block = {32}, .scale = kE8M0};
}
