// Transformer Engine, whose tensors are those of training: no file is its own, but weights that are stored as they were
// trained show it. Its global is the maximum. Source: spec/checkpoint-dialects.md 2.8; docs/formats/writers.md.
#pragma once
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr ByteRange kTeZeroBlock[] = {{0, 0}};
inline constexpr Signature kTe[] = {{.families = "NVFP4", .zero_blocks = kTeZeroBlock, .others = {0x01, 0x7e}},
                                    {.families = "MXFP8", .zero_blocks = kTeZeroBlock, .largest = {0x76, 0x7e}},
                                    {.families = "FP8", .scale_dtypes = "F32"}};
inline constexpr Release kTeReleases[] = {{"any", kTe}};
inline constexpr Fingerprint transformer_engine{.name = "transformer-engine", .dialects = "", .releases = kTeReleases};

}  // namespace tessera::fingerprints
