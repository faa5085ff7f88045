// FBGEMM, by way of transformers: a scale for each row. Source: spec/checkpoint-dialects.md 1.3.
#pragma once
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr Signature kFbgemm[] = {{.families = "FP8", .scale_dtypes = "F32"}};
inline constexpr Release kFbgemmReleases[] = {{"any", kFbgemm}};
inline constexpr Fingerprint fbgemm{.name = "fbgemm", .dialects = "fbgemm-fp8", .releases = kFbgemmReleases};

}  // namespace tessera::fingerprints
