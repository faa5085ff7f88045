// AMD Quark: ModelOpt's names, with MX scales in bytes, FP8 scales in the dtype of the model, and KV-cache scales of
// the older names. Read only. Source: AMD Quark 0.13, quark/torch/export/; docs/formats/quark.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_quark(const ModelConfig& config);
std::optional<Claim> claim_quark(std::string_view module, const ModuleTensors& tensors, const Evidence& evidence);

inline constexpr Spelling kQuark[] = {
    {.format = "mxfp4", .codes = "weight", .codes_dtypes = "U8", .scales = "weight_scale", .scales_dtypes = "U8"},
    {.format = "mxfp6_e2m3",
     .codes = "weight",
     .codes_dtypes = "U8",
     .scales = "weight_scale",
     .scales_dtypes = "U8",
     .only_claimed = true},
    {.format = "mxfp6_e3m2",
     .codes = "weight",
     .codes_dtypes = "U8",
     .scales = "weight_scale",
     .scales_dtypes = "U8",
     .only_claimed = true},
    {.format = "nvfp4",
     .codes = "weight",
     .codes_dtypes = "U8",
     .scales = "weight_scale",
     .scales_dtypes = "F8_E4M3",
     .global = "weight_scale_2",
     .activation = "input_scale_2"},
    {.format = "fp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "BF16 F32 F16",
     .scale_shape = ScaleShape::kScalar,
     .activation = "input_scale"},
    {.format = "fp8_channel",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "BF16 F32 F16",
     .scale_shape = ScaleShape::kVector,
     .activation = "input_scale"},
};
inline constexpr Dialect quark{.name = "quark",
                               .description = "AMD Quark (read only)",
                               .spellings = kQuark,
                               .fused = {},
                               .cache = {},
                               .writer = "quark",
                               .read_declaration = &read_quark,
                               .write_declaration = nullptr,
                               .claim = &claim_quark,
                               .only_declared = true};

}  // namespace tessera::dialects
