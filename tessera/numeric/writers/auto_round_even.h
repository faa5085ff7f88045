// AutoRound's data types mx_fp_even.
// Source: as auto_round.h.
#pragma once
#include "tessera/numeric/writers/auto_round.h"

namespace tessera::writers {

inline constexpr WriterOf<AutoRoundRule<AutoRoundMode::kEven>> auto_round_even{
    {.name = "auto-round:even", .description = "AutoRound, MX even", .supports = &AutoRoundRule<AutoRoundMode::kEven>::supports}};

}  // namespace tessera::writers
