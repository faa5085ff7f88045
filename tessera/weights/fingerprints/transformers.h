// transformers' fine-grained FP8: blocks, scales in F32 or as exponents. A weight that its blocks do not divide was
// written as a raw cast, with scales from memory that nobody had set.
// Source: spec/checkpoint-dialects.md 1.3, 2.8; huggingface/transformers 5.17.
#pragma once
#include "tessera/weights/fault_signs.h"
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr Signature kTransformers[] = {{.families = "FP8"}, {.families = "NVFP4 MXFP4 MXFP8"}};
inline constexpr Release kTransformersReleases[] = {{"any", kTransformers}};
inline constexpr ExporterFault kTransformersFaults[] = {
    {.code = "uninitialized-scales", .report = "", .in_rows = [](const Module&, const QuantizedTensor& rows) {
       return uninitialized_scale(rows);
     }}};
inline constexpr Fingerprint transformers{
    .name = "transformers", .dialects = "fp8-block", .releases = kTransformersReleases, .faults = kTransformersFaults};

}  // namespace tessera::fingerprints
