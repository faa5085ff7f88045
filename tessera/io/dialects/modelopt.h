// NVIDIA Model Optimizer's Hugging Face export. Every scale multiplies; its class for E2M1 reads code 8 as +0.
// Source: NVIDIA/Model-Optimizer 0.47, torch/export/; docs/formats/modelopt.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_modelopt(const ModelConfig& config);
void write_modelopt(const WrittenModel& model, ModelConfig& config);
// `json`: the object that holds quant_algo; `producer` may stand beside it or above, or be null.
std::unique_ptr<Declaration> modelopt_declaration(const Json& json, const Json* producer, std::string file);

inline constexpr Spelling kModelopt[] = {
    {.format = "nvfp4",
     .codes = "weight",
     .codes_dtypes = "U8 I8 F4",
     .scales = "weight_scale",
     .scales_dtypes = "F8_E4M3",
     .global = "weight_scale_2",
     .activation = "input_scale",
     .reads_minus_zero = false},
    {.format = "nvfp4_32",
     .codes = "weight",
     .codes_dtypes = "U8 I8 F4",
     .scales = "weight_scale",
     .scales_dtypes = "F8_E4M3",
     .global = "weight_scale_2",
     .activation = "input_scale",
     .reads_minus_zero = false},
    {.format = "mxfp4",
     .codes = "weight",
     .codes_dtypes = "U8 I8 F4",
     .scales = "weight_scale",
     .scales_dtypes = "U8 F8_E8M0"},
    {.format = "mxfp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "U8 F8_E8M0"},
    {.format = "fp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "F32 BF16",
     .scale_shape = ScaleShape::kScalar,
     .activation = "input_scale",
     .caveat = "its FP8 declares static activations, and engines may want an input_scale that a weight-only file has "
               "not; fp8_channel has none"},
    {.format = "fp8_channel",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "F32 BF16",
     .scale_shape = ScaleShape::kVector,
     .activation = "input_scale"},
    {.format = "fp8_block",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "F32 BF16",
     .scale_shape = ScaleShape::kSpacedGrid,
     .activation = "input_scale"},
    // Experts that stand in one tensor: quantized along `in` and stored transposed, as their models have them; or as
    // they multiply.
    {.format = "nvfp4",
     .codes = "",
     .codes_dtypes = "U8",
     .scales = "_weight_scale",
     .scales_dtypes = "F8_E4M3",
     .global = "_weight_scale_2",
     .activation = "_input_scale",
     .reads_minus_zero = false,
     .only_read = true,
     .glued = true,
     .transposed = true},
    {.format = "nvfp4",
     .codes = "",
     .codes_dtypes = "U8",
     .scales = "_weight_scale",
     .scales_dtypes = "F8_E4M3",
     .global = "_weight_scale_2",
     .activation = "_input_scale",
     .reads_minus_zero = false,
     .only_read = true,
     .glued = true},
    {.format = "fp8",
     .codes = "",
     .codes_dtypes = "F8_E4M3",
     .scales = "_weight_scale",
     .scales_dtypes = "F32 BF16",
     .activation = "_input_scale",
     .only_read = true,
     .glued = true,
     .transposed = true},
};
inline constexpr std::string_view kModeloptFused[] = {"q_proj k_proj v_proj", "gate_proj up_proj", "w1 w3",
                                                      "q_a_proj kv_a_proj_with_mqa", "in_proj_qkv in_proj_z"};

inline constexpr Dialect modelopt{.name = "modelopt",
                                  .description = "NVIDIA Model Optimizer: every scale multiplies",
                                  .spellings = kModelopt,
                                  .fused = kModeloptFused,
                                  .cache = {.key = "k_proj.k_scale", .value = "v_proj.v_scale", .dtypes = "F32"},
                                  .writer = "modelopt",
                                  .read_declaration = &read_modelopt,
                                  .write_declaration = &write_modelopt};

}  // namespace tessera::dialects
