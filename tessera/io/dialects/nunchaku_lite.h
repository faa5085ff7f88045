// Nunchaku: FP4 with a low-rank part beside it, in the order in which its kernels' matrix instructions take the bytes.
// That order is known to its own library alone: such weights are named and refused.
// Source: nunchaku-tech/nunchaku and diffusers' nunchaku_lite names; docs/formats/nunchaku-lite.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

inline constexpr Spelling kNunchakuLite[] = {
    {.format = "nvfp4",
     .codes = "qweight",
     .codes_dtypes = "I8 U8",
     .scales = "wscales",
     .scales_dtypes = "F8_E4M3",
     .global = "wtscale",
     .notes = "wcscales smooth_factor smooth_factor_orig proj_down proj_up",
     .global_may_lack = true},
};
inline constexpr Dialect nunchaku_lite{
    .name = "nunchaku-lite",
    .description = "Nunchaku: recognized and refused, its bytes are in the order of its kernels",
    .spellings = kNunchakuLite,
    .fused = {},
    .cache = {},
    .writer = "",
    .read_declaration = [](const ModelConfig& config) -> std::unique_ptr<Declaration> {
      const Json* q = quantization_by(config, "nunchaku_lite");
      if (q == nullptr) return nullptr;
      auto declaration = std::make_unique<UniformDeclaration>("nunchaku-lite", "nunchaku", *q,
                                                              DeclaredScheme{.label = "svdq_w4a4", .family = "NVFP4"});
      declaration->names_modules = false;
      return declaration;
    },
    .write_declaration = nullptr,
    .claim = [](std::string_view, const ModuleTensors& tensors, const Evidence&) -> std::optional<Claim> {
      if (!tensors.contains("qweight") || !tensors.contains("wscales")) return {};
      return Claim{.refusal =
                       "Nunchaku keeps its bytes in the order of its kernels' tiles, which has no public "
                       "description; dequantize it with Nunchaku itself"};
    },
    .only_claimed = true};

}  // namespace tessera::dialects
