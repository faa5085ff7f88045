// llama.cpp and gguf-py: the container says it, and blocks are not looked at. Source: spec/checkpoint-dialects.md 1.16.
#pragma once
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr Signature kLlamaCpp[] = {{.families = "NVFP4 MXFP4"}};
inline constexpr Release kLlamaCppReleases[] = {{"any", kLlamaCpp}};
inline constexpr Fingerprint llama_cpp{.name = "llama.cpp", .dialects = "gguf", .releases = kLlamaCppReleases};

}  // namespace tessera::fingerprints
