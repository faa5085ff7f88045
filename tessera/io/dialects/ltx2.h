// LTX-2's own single files: NVFP4 with the high nibble first and block scales in tiles, FP8 with one scale a weight.
// Their names begin with "model.diffusion_model.". Source: Lightricks/LTX-2, ltx-core loader; docs/formats/ltx2.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::optional<Claim> claim_ltx2(std::string_view module, const ModuleTensors& tensors, const Evidence& evidence);

inline constexpr Spelling kLtx2[] = {
    {.format = "nvfp4",
     .codes = "weight",
     .codes_dtypes = "U8",
     .scales = "weight_scale",
     .scales_dtypes = "F8_E4M3 U8",
     .global = "weight_scale_2",
     .activation = "input_scale",
     .high_nibble_first = true,
     .scale_order = GridOrder::kTiles},
    {.format = "fp8",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale",
     .scales_dtypes = "F32 BF16",
     .scale_shape = ScaleShape::kScalar,
     .activation = "input_scale"},
};
inline constexpr Dialect ltx2{.name = "ltx2",
                              .description = "LTX-2 single files: NVFP4 high nibble first in tiles, FP8",
                              .spellings = kLtx2,
                              .fused = {},
                              .cache = {},
                              .writer = "comfy",
                              .read_declaration = [](const ModelConfig&) { return std::unique_ptr<Declaration>(); },
                              .write_declaration = nullptr,
                              .claim = &claim_ltx2,
                              .only_claimed = true};

}  // namespace tessera::dialects
