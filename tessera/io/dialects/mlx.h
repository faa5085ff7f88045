// MLX: codes in 32-bit words, the first in the lowest bits; scales in bytes, and no global. Its affine modes are not
// floats and are refused. Source: ml-explore/mlx, mlx/primitives (fp_quantize) and mlx-lm's converter;
// docs/formats/mlx.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_mlx(const ModelConfig& config);
std::optional<Claim> claim_mlx(std::string_view module, const ModuleTensors& tensors, const Evidence& evidence);

inline constexpr Spelling kMlx[] = {
    {.format = "nvfp4",
     .codes = "weight",
     .codes_dtypes = "U32",
     .scales = "scales",
     .scales_dtypes = "U8",
     .notes = "biases",
     .global_may_lack = true},
    {.format = "mxfp4",
     .codes = "weight",
     .codes_dtypes = "U32",
     .scales = "scales",
     .scales_dtypes = "U8",
     .notes = "biases"},
    {.format = "mxfp8",
     .codes = "weight",
     .codes_dtypes = "U32",
     .scales = "scales",
     .scales_dtypes = "U8",
     .notes = "biases"},
};
inline constexpr Dialect mlx{.name = "mlx",
                             .description = "MLX: codes in 32-bit words",
                             .spellings = kMlx,
                             .fused = {},
                             .cache = {},
                             .writer = "mlx",
                             .read_declaration = &read_mlx,
                             .write_declaration = nullptr,
                             .claim = &claim_mlx,
                             .only_claimed = true};

}  // namespace tessera::dialects
