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
