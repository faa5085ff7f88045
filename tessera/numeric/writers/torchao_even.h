// torchao's MX mode EVEN: the exponent of the maximum rounded to the mantissa of the element, half a unit up.
// Source: as torchao.h.
#pragma once
#include "tessera/numeric/writers/torchao.h"

namespace tessera::writers {

inline constexpr WriterOf<TorchaoRule<TorchaoMode::kEven>> torchao_even{
    {.name = "torchao:even",
     .description = "torchao, MX with the maximum rounded to the element's mantissa",
     .supports = &TorchaoRule<TorchaoMode::kEven>::supports}};

}  // namespace tessera::writers
