// torchao's MX mode RCEIL: the maximum over the element's largest number, rounded up to a power of two.
// Source: as torchao.h; its f32 log2 on a CPU.
#pragma once
#include "tessera/numeric/writers/torchao.h"

namespace tessera::writers {

inline constexpr WriterOf<TorchaoRule<TorchaoMode::kRceil>> torchao_rceil{
    {.name = "torchao:rceil",
     .description = "torchao, MX with amax over the largest number rounded up",
     .supports = &TorchaoRule<TorchaoMode::kRceil>::supports}};

}  // namespace tessera::writers
