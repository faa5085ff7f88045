// MiniMax-M3: MXFP8 whose E8M0 scales have the name of DeepSeek's f32 ones, weight_scale_inv. They multiply.
// Source: MiniMaxAI/MiniMax-M3 model files; docs/formats/minimax-m3.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_minimax_m3(const ModelConfig& config);

inline constexpr Spelling kMinimaxM3[] = {
    {.format = "mxfp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale_inv",
     .scales_dtypes = "U8 F8_E8M0"},
};
inline constexpr Dialect minimax_m3{.name = "minimax-m3",
                                    .description = "MiniMax-M3: MXFP8 scales called weight_scale_inv",
                                    .spellings = kMinimaxM3,
                                    .fused = {},
                                    .cache = {},
                                    .writer = "",
                                    .read_declaration = &read_minimax_m3,
                                    .write_declaration = nullptr};

}  // namespace tessera::dialects
