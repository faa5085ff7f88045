// Model Optimizer's export of diffusion models into one file: the declaration stands in the file's metadata; the low
// nibble comes first, as in all it writes, and block scales stand in rows, or in tiles with their columns padded to 16,
// by an option that the file does not name. Source: NVIDIA/Model-Optimizer 0.47, torch/export/diffusers_utils.py;
// docs/formats/modelopt-diffusers.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_modelopt_diffusers(const ModelConfig& config);
void write_modelopt_diffusers(const WrittenModel& model, ModelConfig& config);
std::optional<Claim> claim_modelopt_diffusers(std::string_view module, const ModuleTensors& tensors,
                                              const Evidence& evidence);

inline constexpr Spelling kModeloptDiffusers[] = {
    {.format = "nvfp4",
     .codes = "weight",
     .codes_dtypes = "U8",
     .scales = "weight_scale",
     .scales_dtypes = "F8_E4M3",
     .global = "weight_scale_2",
     .activation = "input_scale",
     .reads_minus_zero = false,
     .scale_order = GridOrder::kTiles,
     .padding = {.cols = 32, .rows = 16},
     .scale_padding = 16},
    {.format = "fp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "F32",
     .scale_shape = ScaleShape::kScalar,
     .activation = "input_scale"},
};
inline constexpr Dialect modelopt_diffusers{.name = "modelopt-diffusers",
                                            .description = "Model Optimizer's single files of diffusion models",
                                            .spellings = kModeloptDiffusers,
                                            .fused = {},
                                            .cache = {},
                                            .writer = "modelopt",
                                            .read_declaration = &read_modelopt_diffusers,
                                            .write_declaration = &write_modelopt_diffusers,
                                            .claim = &claim_modelopt_diffusers,
                                            .only_claimed = true,
                                            .declares_in_metadata = true,
                                            .kin = "modelopt"};

}  // namespace tessera::dialects
