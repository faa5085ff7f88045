// E4M3 block scales that are NaN. A scale beyond 464 that was cast without a clamp became 0x7F where 448 was meant, and
// a weight of zeros got 0 / 0 everywhere. 0xFF beside a global that is not 0 is neither, and is left in doubt.
// Source: spec/checkpoint-dialects.md 2.4, 7.5.
#pragma once
#include "tessera/weights/fix.h"

namespace tessera::fixes {

Repair plan_nan_block_scales(const Checkpoint& model, std::uint64_t most);

inline constexpr Fix nan_block_scales{
    .name = "nan-block-scales",
    .description = "block scales that are NaN (0x7F) because they were cast to E4M3 without a clamp become 448 (0x7E)",
    .report = "NVIDIA/Model-Optimizer#1633, #1397",
    .plan = &plan_nan_block_scales};

}  // namespace tessera::fixes
