// FLUX.2 in NVFP4 as Black Forest Labs publish it: q, k and v are one weight, the first code is in the high half of a
// byte, block scales stand in tiles. Names tell it from files of the same shapes. The direction of its input_scale is
// not known (146 to 171 were seen, which no decode scale is), so it is not used.
// Source: reports and loader of sgl-project/sglang#23625, #25483; docs/formats/bfl.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::optional<Claim> claim_bfl(std::string_view module, const ModuleTensors& tensors, const Evidence& evidence);

inline constexpr Spelling kBfl[] = {
    {.format = "nvfp4",
     .codes = "weight",
     .codes_dtypes = "U8",
     .scales = "weight_scale",
     .scales_dtypes = "F8_E4M3 U8",
     .global = "weight_scale_2",
     .notes = "input_scale",
     .high_nibble_first = true,
     .scale_order = GridOrder::kTiles},
};
inline constexpr Dialect bfl{.name = "bfl",
                             .description = "FLUX.2 NVFP4: high nibble first, scales in tiles",
                             .spellings = kBfl,
                             .fused = {},
                             .cache = {},
                             .writer = "comfy",
                             .read_declaration = [](const ModelConfig&) { return std::unique_ptr<Declaration>(); },
                             .write_declaration = nullptr,
                             .claim = &claim_bfl,
                             .only_claimed = true};

}  // namespace tessera::dialects
