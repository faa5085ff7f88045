// Transformer Engine with powers of two for the scales of whole tensors too.
// Source: as transformer_engine.h; the switch NVTE_FP8_CURRENT_SCALING_POWER_2_SCALES.
#pragma once
#include "tessera/numeric/writers/transformer_engine.h"

namespace tessera::writers {

inline constexpr WriterOf<TransformerEngineRule<TePowers::kAlways>> transformer_engine_pow2{
    {.name = "transformer-engine:pow2",
     .description = "Transformer Engine, every FP8 scale a power of two",
     .supports = &TransformerEngineRule<TePowers::kAlways>::supports}};

}  // namespace tessera::writers
