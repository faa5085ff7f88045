// ComfyUI's quantized tensors, as comfy-kitchen writes them: beside each weight a note in JSON, comfy_quant, that names
// the format; or one note for all in the file's metadata. NVFP4 has the high nibble first; block scales stand in tiles;
// codes are padded with zeros, to 16 (NVFP4) or 32 (MXFP8), which only orig_shape, a bias or the model tells.
// Source: Comfy-Org/comfy-kitchen 0.2.40, tensor/; ComfyUI comfy/quant_ops.py; docs/formats/comfy-quant.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::optional<Claim> claim_comfy_quant(std::string_view module, const ModuleTensors& tensors, const Evidence& evidence);
std::string comfy_quant_note(const Format& format, Extent extent);

inline constexpr Spelling kComfyQuant[] = {
    {.format = "nvfp4",
     .codes = "weight",
     .codes_dtypes = "U8",
     .scales = "weight_scale",
     .scales_dtypes = "F8_E4M3 U8",
     .global = "weight_scale_2",
     .activation = "input_scale",
     .notes = "comfy_quant",
     .high_nibble_first = true,
     .scale_order = GridOrder::kTiles,
     .padding = {.cols = 16, .rows = 16},
     .note = &comfy_quant_note},
    {.format = "mxfp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "F8_E8M0 U8",
     .notes = "comfy_quant",
     .scale_order = GridOrder::kTiles,
     .padding = {.cols = 32, .rows = 32},
     .note = &comfy_quant_note},
    {.format = "fp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "F32",
     .scale_shape = ScaleShape::kScalar,
     .activation = "input_scale",
     .notes = "comfy_quant",
     .note = &comfy_quant_note},
    {.format = "fp8_e5m2",
     .codes = "weight",
     .codes_dtypes = "F8_E5M2",
     .scales = "weight_scale",
     .scales_dtypes = "F32",
     .scale_shape = ScaleShape::kScalar,
     .activation = "input_scale",
     .notes = "comfy_quant",
     .note = &comfy_quant_note},
};
inline constexpr Dialect comfy_quant{
    .name = "comfy-quant",
    .description = "ComfyUI's quantized tensors: a note beside each weight, scales in tiles",
    .spellings = kComfyQuant,
    .fused = {},
    .cache = {},
    .writer = "comfy",
    .read_declaration = [](const ModelConfig&) { return std::unique_ptr<Declaration>(); },
    .write_declaration = [](const WrittenModel&, ModelConfig&) {},  // the notes are all
    .claim = &claim_comfy_quant,
    .only_claimed = true};

}  // namespace tessera::dialects
