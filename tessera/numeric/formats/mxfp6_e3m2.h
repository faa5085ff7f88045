// MXFP6 with three bits of exponent: E3M2 codes, a power-of-two scale per 32 elements. 6.25 bits an element.
// Source: OCP Microscaling Formats (MX) v1.0, section 5.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format mxfp6_e3m2{.name = "mxfp6_e3m2", .element = kE3M2, .block = {32}, .scale = kE8M0};
}
