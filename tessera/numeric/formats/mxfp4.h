// MXFP4: E2M1 codes, a power-of-two scale per 32 elements. 4.25 bits an element.
// Source: OCP Microscaling Formats (MX) v1.0, section 5.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format mxfp4{.name = "mxfp4", .element = kE2M1, .block = {32}, .scale = kE8M0, .has_global = false};
}
