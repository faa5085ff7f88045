// compressed-tensors up to 0.14: the global of an all-zero tensor is infinite, that of a tensor with a NaN is NaN.
// Source: vllm-project/compressed-tensors before commit 69e653c5 (2026-03-18); spec/checkpoint-dialects.md 2.1.
#pragma once
#include "tessera/numeric/writers/compressed_tensors.h"

namespace tessera::writers {

inline constexpr WriterOf<CompressedTensorsRule<true>> compressed_tensors_0_14{
    {.name = "compressed-tensors-0.14",
     .description = "compressed-tensors up to 0.14",
     .supports = &CompressedTensorsRule<true>::supports,
     .sense = Sense::kDivide,
     .scales_in_source = true}};

}  // namespace tessera::writers
