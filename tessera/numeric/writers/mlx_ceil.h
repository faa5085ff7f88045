// MLX since pull request 4353, and its CUDA kernels before: MX scales are rounded up.
// Source: as mlx.h.
#pragma once
#include "tessera/numeric/writers/mlx.h"

namespace tessera::writers {

inline constexpr WriterOf<MlxRule<MlxMode::kCeil>> mlx_ceil{{.name = "mlx:ceil",
                                                             .description = "MLX, MX with log2 rounded up",
                                                             .supports = &MlxRule<MlxMode::kCeil>::supports}};

}  // namespace tessera::writers
