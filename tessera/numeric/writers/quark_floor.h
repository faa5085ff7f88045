// Quark's MX mode floor: the floor of the maximum's log2, taken in the dtype of the weights.
// Source: as quark.h.
#pragma once
#include "tessera/numeric/writers/quark.h"

namespace tessera::writers {

inline constexpr WriterOf<QuarkRule<QuarkMode::kFloor>> quark_floor{
    {.name = "quark:floor",
     .description = "AMD Quark, MX with the floor of the exponent",
     .supports = &QuarkRule<QuarkMode::kFloor>::supports}};

}  // namespace tessera::writers
