// FBGEMM's FP8 as transformers saves it: a scale a row. Activations are quantized per row and never read from the file.
// Source: huggingface/transformers, integrations/fbgemm_fp8.py; docs/formats/fbgemm-fp8.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_fbgemm_fp8(const ModelConfig& config);

inline constexpr Spelling kFbgemmFp8[] = {
    {.format = "fp8_channel",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "F32 BF16",
     .notes = "input_scale_ub"},
};
inline constexpr Dialect fbgemm_fp8{.name = "fbgemm-fp8",
                                    .description = "FBGEMM: an FP8 scale a row",
                                    .spellings = kFbgemmFp8,
                                    .fused = {},
                                    .cache = {},
                                    .writer = "",
                                    .read_declaration = &read_fbgemm_fp8,
                                    .write_declaration = nullptr,
                                    .only_declared = true};

}  // namespace tessera::dialects
