// torchao's MX mode CEIL: the exponent of the maximum, one more where any mantissa bit is set.
// Source: as torchao.h.
#pragma once
#include "tessera/numeric/writers/torchao.h"

namespace tessera::writers {

inline constexpr WriterOf<TorchaoRule<TorchaoMode::kCeil>> torchao_ceil{
    {.name = "torchao:ceil",
     .description = "torchao, MX with the exponent up from any mantissa bit",
     .supports = &TorchaoRule<TorchaoMode::kCeil>::supports}};

}  // namespace tessera::writers
