// Quark's MX mode ceil: the ceiling of the maximum's log2, taken in the dtype of the weights.
// Source: as quark.h.
#pragma once
#include "tessera/numeric/writers/quark.h"

namespace tessera::writers {

inline constexpr WriterOf<QuarkRule<QuarkMode::kCeil>> quark_ceil{
    {.name = "quark:ceil",
     .description = "AMD Quark, MX with the ceiling of the exponent",
     .supports = &QuarkRule<QuarkMode::kCeil>::supports}};

}  // namespace tessera::writers
