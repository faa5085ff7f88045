// AutoRound's data types mx_fp_rceil.
// Source: as auto_round.h.
#pragma once
#include "tessera/numeric/writers/auto_round.h"

namespace tessera::writers {

inline constexpr WriterOf<AutoRoundRule<AutoRoundMode::kRceil>> auto_round_rceil{
    {.name = "auto-round:rceil",
     .description = "AutoRound, MX with amax over the largest number rounded up",
     .supports = &AutoRoundRule<AutoRoundMode::kRceil>::supports}};

}  // namespace tessera::writers
