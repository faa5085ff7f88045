// Mistral's FP8 with one scale a weight: weight_scale_inv and activation_scale in Hugging Face form, qscale_weight and
// qscale_act in its own consolidated files. All of them multiply.
// Source: mistralai/Ministral and Devstral model files; docs/formats/mistral-fp8.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_mistral_fp8(const ModelConfig& config);

inline constexpr Spelling kMistralFp8[] = {
    {.format = "fp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale_inv",
     .scales_dtypes = "F32 BF16 F16",
     .scale_shape = ScaleShape::kScalar,
     .activation = "activation_scale"},
    {.format = "fp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "qscale_weight",
     .scales_dtypes = "F32 BF16 F16",
     .scale_shape = ScaleShape::kScalar,
     .activation = "qscale_act"},
};
inline constexpr Dialect mistral_fp8{.name = "mistral-fp8",
                                     .description = "Mistral: one FP8 scale a weight, static activations",
                                     .spellings = kMistralFp8,
                                     .fused = {},
                                     .cache = {},
                                     .writer = "",
                                     .read_declaration = &read_mistral_fp8,
                                     .write_declaration = nullptr};

}  // namespace tessera::dialects
