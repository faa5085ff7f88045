// compressed-tensors, as llm-compressor and AutoRound's llm_compressor export write it. Globals of NVFP4 divide:
// weight_global_scale is 2688 / amax. Its FP8 scales stand in the dtype of the model.
// Source: vllm-project/compressed-tensors 0.19, compressors/ and config/; docs/formats/compressed-tensors.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_compressed_tensors(const ModelConfig& config);
void write_compressed_tensors(const WrittenModel& model, ModelConfig& config);

// The format that AutoRound adds to those of compressed-tensors; its tensors are the dialect auto-round's.
inline constexpr std::string_view kE5m3Packed = "nvfp4-e5m3-pack-quantized";

inline constexpr Spelling kCompressedTensors[] = {
    {.format = "nvfp4",
     .codes = "weight_packed",
     .codes_dtypes = "U8",
     .scales = "weight_scale",
     .scales_dtypes = "F8_E4M3",
     .global = "weight_global_scale",
     .sense = Sense::kDivide,
     .one_shape = ScaleShape::kOne,
     .activation = "input_global_scale",
     .activation_sense = Sense::kDivide},
    {.format = "mxfp4",
     .codes = "weight_packed",
     .codes_dtypes = "U8",
     .scales = "weight_scale",
     .scales_dtypes = "U8 F8_E8M0",
     .tolerated_one = "weight_global_scale"},
    {.format = "mxfp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "U8 F8_E8M0"},
    {.format = "fp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "BF16 F32 F16",
     .scale_shape = ScaleShape::kOne,
     .one_shape = ScaleShape::kOne,
     .activation = "input_scale"},
    {.format = "fp8_channel",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "BF16 F32 F16",
     .one_shape = ScaleShape::kOne,
     .activation = "input_scale"},
    {.format = "fp8_block*",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "BF16 F32 F16",
     .one_shape = ScaleShape::kOne,
     .activation = "input_scale"},
};
inline constexpr std::string_view kCompressedTensorsFused[] = {"q_proj k_proj v_proj", "gate_proj up_proj", "w1 w3",
                                                               "q_a_proj kv_a_proj_with_mqa"};

inline constexpr Dialect compressed_tensors{
    .name = "compressed-tensors",
    .description = "llm-compressor and kin: globals divide",
    .spellings = kCompressedTensors,
    .fused = kCompressedTensorsFused,
    .cache = {.key = "k_scale", .value = "v_scale", .dtypes = "BF16 F32", .shape = ScaleShape::kOne},
    .writer = "compressed-tensors",
    .read_declaration = &read_compressed_tensors,
    .write_declaration = &write_compressed_tensors};

}  // namespace tessera::dialects
