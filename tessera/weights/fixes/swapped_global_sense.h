// Globals of NVFP4 in the other sense than their name has. The largest weight of a linear layer is between 2^-10 and
// 2^7, so a global is 4e-7 to 5e-2 where it multiplies and 20 to 3e6 where it divides; between those nothing is
// decided. The original bits travel in the metadata, so that values are those of the undamaged file. Source:
// spec/checkpoint-dialects.md 4.2, 4.4.
#pragma once
#include "tessera/weights/fix.h"

namespace tessera::fixes {

Repair plan_swapped_global_sense(const Checkpoint& model, std::uint64_t most);

inline constexpr Fix swapped_global_sense{
    .name = "swapped-global-sense",
    .description = "globals that divide stand where the dialect multiplies, or the other way round",
    .report = "kekzl/imp#1433",
    .plan = &plan_swapped_global_sense};

}  // namespace tessera::fixes
