// llm-compressor, whose bits are compressed-tensors': statistics in the dtype of the weights, so globals have its
// digits; the scale of a zero block is 0.125. Releases differ in what a weight of zeros gets. Source:
// spec/checkpoint-dialects.md 2.1-2.3, 2.10; vllm-project/compressed-tensors 0.19.
#pragma once
#include "tessera/weights/fault_signs.h"
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr ByteRange kCtZeroBlock[] = {{0x20, 0x20}};
inline constexpr ByteRange kCtZeroExponent[] = {{0, 0}, {127, 127}};  // 127: of F16 weights
// Up to 0.13 the bytes of MXFP4 are 2 too small, modulo 256.
inline constexpr ByteRange kCtOldZeroExponent[] = {{0, 0}, {125, 125}, {127, 127}, {254, 254}};
inline constexpr Signature kCtNew[] = {{.families = "NVFP4",
                                        .zero_blocks = kCtZeroBlock,
                                        .others = {0x01, 0x7e},
                                        .digits = Digits::kOfWeights,
                                        .zero_weight = ZeroWeight{.global = 1}},
                                       {.families = "MXFP4", .zero_blocks = kCtZeroExponent, .largest = {6, 7}},
                                       {.families = "MXFP8", .zero_blocks = kCtZeroExponent, .largest = {0x76, 0x7e}},
                                       {.families = "FP8"}};
inline constexpr Signature kCtOld[] = {{.families = "NVFP4",
                                        .zero_blocks = kCtZeroBlock,
                                        .others = {0x01, 0x7e},
                                        .digits = Digits::kOfWeights,
                                        .zero_weight = ZeroWeight{.global = kInfinity}},
                                       {.families = "MXFP4", .zero_blocks = kCtOldZeroExponent, .largest = {6, 7}},
                                       {.families = "MXFP8", .zero_blocks = kCtZeroExponent, .largest = {0x76, 0x7e}},
                                       {.families = "FP8"}};
inline constexpr Release kCtReleases[] = {{"compressed-tensors 0.14 and earlier", kCtOld},
                                          {"compressed-tensors 0.15 and later", kCtNew}};
inline constexpr ExporterFault kCtFaults[] = {
    {.code = "infinite-global", .report = "vllm-project/compressed-tensors#595", .in_model = &infinite_globals},
    {.code = "halved-e8m0-range", .report = "", .in_rows = [](const Module&, const QuantizedTensor& rows) {
       return halved_range(rows);
     }}};
inline constexpr Fingerprint llm_compressor{
    .name = "llm-compressor", .dialects = "compressed-tensors", .releases = kCtReleases, .faults = kCtFaults};

}  // namespace tessera::fingerprints
