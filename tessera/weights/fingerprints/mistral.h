// Mistral's own files: one scale for a weight. Source: spec/checkpoint-dialects.md 1.3.
#pragma once
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr Signature kMistral[] = {{.families = "FP8"}};
inline constexpr Release kMistralReleases[] = {{"any", kMistral}};
inline constexpr Fingerprint mistral{.name = "mistral", .dialects = "mistral-fp8", .releases = kMistralReleases};

}  // namespace tessera::fingerprints
