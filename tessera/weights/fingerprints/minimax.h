// MiniMax-M3's own files: exponents in weight_scale_inv. Source: spec/checkpoint-dialects.md 1.5.
#pragma once
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr Signature kMinimax[] = {{.families = "MXFP8"}};
inline constexpr Release kMinimaxReleases[] = {{"any", kMinimax}};
inline constexpr Fingerprint minimax{.name = "minimax", .dialects = "minimax-m3", .releases = kMinimaxReleases};

}  // namespace tessera::fingerprints
