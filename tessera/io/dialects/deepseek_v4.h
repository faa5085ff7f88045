// DeepSeek-V4: FP8 in blocks with power-of-two scales, and experts of two E2M1 codes a byte, each weight with a tensor
// ".scale" beside it. Engram tables have a scale for each 32 elements of a row.
// Source: deepseek-ai/DeepSeek-V4 model files and inference code; docs/formats/deepseek-v4.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_deepseek_v4(const ModelConfig& config);

inline constexpr Spelling kDeepseekV4[] = {
    {.format = "fp8_block*",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "scale",
     .scales_dtypes = "F8_E8M0 F32 U8"},
    {.format = "mxfp4",
     .codes = "weight",
     .codes_dtypes = "I8 U8 F4",
     .scales = "scale",
     .scales_dtypes = "F8_E8M0 U8"},
    {.format = "mxfp8", .codes = "weight", .codes_dtypes = "F8_E4M3", .scales = "scale", .scales_dtypes = "F8_E8M0 U8"},
};
inline constexpr Dialect deepseek_v4{.name = "deepseek-v4",
                                     .description = "DeepSeek-V4: FP8 blocks and FP4 experts with a .scale each",
                                     .spellings = kDeepseekV4,
                                     .fused = {},
                                     .cache = {},
                                     .writer = "deepseek",
                                     .read_declaration = &read_deepseek_v4,
                                     .write_declaration = nullptr};

}  // namespace tessera::dialects
