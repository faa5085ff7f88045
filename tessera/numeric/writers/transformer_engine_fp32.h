// Transformer Engine with block scales that are no powers of two.
// Source: as transformer_engine.h; the switch NVTE_FP8_BLOCK_SCALING_FP32_SCALES.
#pragma once
#include "tessera/numeric/writers/transformer_engine.h"

namespace tessera::writers {

inline constexpr WriterOf<TransformerEngineRule<TePowers::kNever>> transformer_engine_fp32{
    {.name = "transformer-engine:fp32",
     .description = "Transformer Engine, no FP8 scale a power of two",
     .supports = &TransformerEngineRule<TePowers::kNever>::supports}};

}  // namespace tessera::writers
