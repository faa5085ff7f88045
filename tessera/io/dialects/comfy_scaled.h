// ComfyUI's older "scaled fp8": one file, a tensor scaled_fp8 that marks it, and beside each weight scale_weight and
// perhaps scale_input, which multiply. A weight without a scale was cast as it stands: its scale is 1. That is so in
// single files of diffusion models alone; in a language model's folder a missing scale is a loss. Source:
// Comfy-Org/ComfyUI, comfy/ops.py before comfy_quant; Kijai's releases; docs/formats/comfy-scaled.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::optional<Claim> claim_comfy_scaled(std::string_view module, const ModuleTensors& tensors,
                                        const Evidence& evidence);

inline constexpr Spelling kComfyScaled[] = {
    {.format = "fp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "scale_weight",
     .scales_dtypes = "F32 BF16",
     .scale_shape = ScaleShape::kScalar,
     .activation = "scale_input"},
    {.format = "fp8_e5m2",
     .codes = "weight",
     .codes_dtypes = "F8_E5M2",
     .scales = "scale_weight",
     .scales_dtypes = "F32 BF16",
     .scale_shape = ScaleShape::kScalar,
     .activation = "scale_input"},
    {.format = "fp8", .codes = "weight", .codes_dtypes = "F8_E4M3"},
    {.format = "fp8_e5m2", .codes = "weight", .codes_dtypes = "F8_E5M2"},
};
inline constexpr Dialect comfy_scaled{
    .name = "comfy-scaled",
    .description = "ComfyUI scaled fp8: scale_weight, or a plain cast",
    .spellings = kComfyScaled,
    .fused = {},
    .cache = {},
    .writer = "comfy",
    .read_declaration = [](const ModelConfig&) { return std::unique_ptr<Declaration>(); },
    .write_declaration = nullptr,
    .claim = &claim_comfy_scaled,
    .only_claimed = true,
    .markers = "scaled_fp8"};

}  // namespace tessera::dialects
