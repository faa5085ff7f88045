// Weights that are not quantized: NAME.weight in bf16, f16 or f32; banks of experts are tensors of their own name.
// Source: what every exporter leaves alone.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

inline constexpr Spelling kDense[] = {
    {.format = "bf16", .codes = "weight", .codes_dtypes = "BF16"},
    {.format = "f16", .codes = "weight", .codes_dtypes = "F16"},
    {.format = "f32", .codes = "weight", .codes_dtypes = "F32"},
    {.format = "bf16", .codes = "", .codes_dtypes = "BF16", .glued = true},
    {.format = "f16", .codes = "", .codes_dtypes = "F16", .glued = true},
    {.format = "f32", .codes = "", .codes_dtypes = "F32", .glued = true},
};
inline constexpr Dialect dense{.name = "dense",
                               .description = "unquantized weights",
                               .spellings = kDense,
                               .fused = {},
                               .cache = {},
                               .writer = "",
                               .read_declaration = [](const ModelConfig&) { return std::unique_ptr<Declaration>(); },
                               .write_declaration = nullptr};

}  // namespace tessera::dialects
