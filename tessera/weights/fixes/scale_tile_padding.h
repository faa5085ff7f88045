// Block scales in tiles of 128 x 4 whose padding is wrong: more rows or columns of tiles than the weight needs, or
// bytes other than zero outside the weight's grid. A layout counts as found only where all its padding is zero. Source:
// spec/checkpoint-dialects.md 0.5.
#pragma once
#include "tessera/weights/fix.h"

namespace tessera::fixes {

Repair plan_scale_tile_padding(const Checkpoint& model, std::uint64_t most);

inline constexpr Fix scale_tile_padding{
    .name = "scale-tile-padding",
    .description = "tiles of block scales with too much padding, or with anything but zeros in it, are laid out anew",
    .report = "NVIDIA/TensorRT-LLM#10148, vllm-project/vllm#37564",
    .plan = &plan_scale_tile_padding};

}  // namespace tessera::fixes
