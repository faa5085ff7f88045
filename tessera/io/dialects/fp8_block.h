// Block FP8 as DeepSeek-V3, Qwen and transformers' fine-grained FP8 write it: weight_scale_inv, which multiplies in
// spite of its name, one for each weight_block_size block. Source: deepseek-ai/DeepSeek-V3, inference/kernel.py;
// huggingface/transformers, integrations/finegrained_fp8.py; docs/formats/fp8-block.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_fp8_block(const ModelConfig& config);
void write_fp8_block(const WrittenModel& model, ModelConfig& config);

inline constexpr Spelling kFp8Block[] = {
    {.format = "fp8_block*",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale_inv",
     .scales_dtypes = "F32 BF16 F8_E8M0"},
    // Experts that stand in one tensor, as transformers 5 and 4.57 call them.
    {.format = "fp8_block*",
     .codes = "",
     .codes_dtypes = "F8_E4M3",
     .scales = "_scale_inv",
     .scales_dtypes = "F32 BF16 F8_E8M0",
     .only_read = true,
     .glued = true},
    {.format = "fp8_block*",
     .codes = "",
     .codes_dtypes = "F8_E4M3",
     .scales = "_scales_inv",
     .scales_dtypes = "F32 BF16 F8_E8M0",
     .only_read = true,
     .glued = true},
    // transformers' fine-grained 4-bit classes. Their weight_global_scale multiplies: compressed-tensors' divides.
    {.format = "nvfp4",
     .codes = "weight",
     .codes_dtypes = "I8 U8",
     .scales = "weight_scale_inv",
     .scales_dtypes = "F8_E4M3",
     .global = "weight_global_scale",
     .global_may_lack = true,
     .only_read = true},
    {.format = "mxfp4",
     .codes = "weight",
     .codes_dtypes = "I8 U8",
     .scales = "weight_scale_inv",
     .scales_dtypes = "F8_E8M0 U8",
     .only_read = true},
};
inline constexpr Dialect fp8_block{.name = "fp8-block",
                                   .description = "DeepSeek / transformers block FP8",
                                   .spellings = kFp8Block,
                                   .fused = {},
                                   .cache = {},
                                   .writer = "deepseek",
                                   .read_declaration = &read_fp8_block,
                                   .write_declaration = &write_fp8_block};

}  // namespace tessera::dialects
