// gpt-oss: MXFP4 experts in one tensor a projection, blocks and scales apart; rows of gate and up alternate. Written so
// by OpenAI ("mlp.mlp1_weight.blocks") and in Hugging Face form ("experts.gate_up_proj_blocks"). The same weights
// unquantized stand transposed, [experts, in, out].
// Source: openai/gpt-oss, gpt_oss/torch/weights.py; huggingface/transformers, integrations/mxfp4.py;
// docs/formats/mxfp4.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_mxfp4(const ModelConfig& config);
void write_mxfp4(const WrittenModel& model, ModelConfig& config);

inline constexpr Spelling kMxfp4[] = {
    {.format = "mxfp4",
     .codes = "_blocks",
     .codes_dtypes = "U8",
     .scales = "_scales",
     .scales_dtypes = "U8",
     .glued = true,
     .blocks_axis = true},
    {.format = "mxfp4",
     .codes = "blocks",
     .codes_dtypes = "U8",
     .scales = "scales",
     .scales_dtypes = "U8",
     .only_read = true,
     .blocks_axis = true},
};
inline constexpr Dialect mxfp4{.name = "mxfp4",
                               .description = "gpt-oss: MXFP4 experts, blocks and scales apart",
                               .spellings = kMxfp4,
                               .fused = {},
                               .cache = {},
                               .writer = "gpt-oss",
                               .read_declaration = &read_mxfp4,
                               .write_declaration = &write_mxfp4};

}  // namespace tessera::dialects
