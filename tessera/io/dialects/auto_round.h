// AutoRound's own exports: compressed-tensors' names, under a configuration of its own. Its modules divide the code by
// the global before they multiply by the block's scale. Read only. Source: intel/auto-round 0.15, auto_round/export/;
// docs/formats/auto-round.md.
#pragma once
#include "tessera/io/dialects/compressed_tensors.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_auto_round(const ModelConfig& config);

std::optional<Claim> claim_auto_round(std::string_view module, const ModuleTensors& tensors, const Evidence& evidence);

inline constexpr Spelling kAutoRoundOwn[] = {
    {.format = "fp8_block*",
     .codes = "weight",
     .codes_dtypes = "F8_E4M3",
     .scales = "weight_scale_inv",
     .scales_dtypes = "BF16 F32 F16"},
    {.format = "nvfp4_e5m3",
     .codes = "weight_packed",
     .codes_dtypes = "U8",
     .scales = "weight_scale",
     .scales_dtypes = "U8",
     .only_claimed = true},
};
inline constexpr auto kAutoRound = joined(kCompressedTensors, kAutoRoundOwn);
inline constexpr std::string_view kAutoRoundFused[] = {"q_proj k_proj v_proj", "gate_proj up_proj", "w1 w3"};
inline constexpr Dialect auto_round{.name = "auto-round",
                                    .description = "AutoRound's own exports (read only)",
                                    .spellings = kAutoRound,
                                    .fused = kAutoRoundFused,
                                    .cache = {},
                                    .writer = "auto-round",
                                    .read_declaration = &read_auto_round,
                                    .write_declaration = nullptr,
                                    .claim = &claim_auto_round,
                                    .only_declared = true,
                                    .kin = "compressed-tensors"};

}  // namespace tessera::dialects
