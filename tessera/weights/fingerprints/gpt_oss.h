// gpt-oss and its kin: MXFP4 banks, quantized by triton_kernels. Zero blocks have the byte 0.
// Source: spec/checkpoint-dialects.md 1.6, 2.8; docs/formats/writers.md.
#pragma once
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr ByteRange kGptOssZeroBlock[] = {{0, 0}};
inline constexpr Signature kGptOss[] = {{.families = "MXFP4", .zero_blocks = kGptOssZeroBlock, .largest = {5, 7}}};
inline constexpr Release kGptOssReleases[] = {{"any", kGptOss}};
inline constexpr Fingerprint gpt_oss{.name = "gpt-oss", .dialects = "mxfp4", .releases = kGptOssReleases};

}  // namespace tessera::fingerprints
