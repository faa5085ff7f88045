// MLX. Source: spec/checkpoint-dialects.md 1.17, 2.8; docs/formats/writers.md.
#pragma once
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr ByteRange kMlxZeroBlock[] = {{0, 0}};
inline constexpr Signature kMlx[] = {{.families = "NVFP4 MXFP4 MXFP8", .zero_blocks = kMlxZeroBlock}};
inline constexpr Release kMlxReleases[] = {{"any", kMlx}};
inline constexpr Fingerprint mlx{.name = "mlx", .dialects = "mlx", .releases = kMlxReleases};

}  // namespace tessera::fingerprints
