// DeepSeek's own files, and those of models quantized by their recipe: blocks of FP8, later with exponents for scales.
// Source: spec/checkpoint-dialects.md 1.3, 1.4, 2.8.
#pragma once
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr Signature kDeepseek[] = {{.families = "FP8"}, {.families = "MXFP4"}, {.families = "MXFP8"}};
inline constexpr Release kDeepseekReleases[] = {{"any", kDeepseek}};
inline constexpr Fingerprint deepseek{
    .name = "deepseek", .dialects = "fp8-block deepseek-v4", .releases = kDeepseekReleases};

}  // namespace tessera::fingerprints
