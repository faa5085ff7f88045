// NVIDIA Model Optimizer: statistics in f32; the scale of a zero block is 1, and in its static mode whatever the
// rescaling leaves. Every zero of its MXFP4 becomes -0. Before its change #1397 scales underflowed to 0 or overflowed
// to NaN. Source: spec/checkpoint-dialects.md 2.4, 2.10; NVIDIA/Model-Optimizer 0.47.
#pragma once
#include "tessera/weights/fault_signs.h"
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr ByteRange kMoZeroBlock[] = {{0x01, 0x01}, {0x38, 0x7e}};
inline constexpr ByteRange kMoZeroExponent[] = {{0, 0}};
inline constexpr Signature kMoNew[] = {
    {.families = "NVFP4",
     .zero_blocks = kMoZeroBlock,
     .others = {0x01, 0x7e},
     .digits = Digits::kAll,
     .zero_weight = ZeroWeight{.global = 0, .nan_scales = true}},
    {.families = "MXFP4", .zero_blocks = kMoZeroExponent, .largest = {5, 7}, .minus_zero = MinusZero::kInZeroBlocks},
    {.families = "MXFP8", .zero_blocks = kMoZeroExponent, .largest = {0x76, 0x7e}},
    {.families = "FP8", .scale_dtypes = "F32"}};
inline constexpr ByteRange kMoOldZeroBlock[] = {{0x00, 0x01}, {0x38, 0x7e}};
inline constexpr Signature kMoOld[] = {
    {.families = "NVFP4",
     .zero_blocks = kMoOldZeroBlock,
     .digits = Digits::kAll,
     .zero_weight = ZeroWeight{.global = 0, .nan_scales = true}},
    {.families = "MXFP4", .zero_blocks = kMoZeroExponent, .largest = {5, 7}, .minus_zero = MinusZero::kInZeroBlocks},
    {.families = "MXFP8", .zero_blocks = kMoZeroExponent, .largest = {0x76, 0x7e}},
    {.families = "FP8", .scale_dtypes = "F32"}};
inline constexpr Release kMoReleases[] = {{"before Model-Optimizer#1397", kMoOld},
                                          {"since Model-Optimizer#1397", kMoNew}};
inline constexpr ExporterFault kMoFaults[] = {
    {.code = "kv-scales-of-one", .report = "NVIDIA/Model-Optimizer#20", .in_model = &cache_scales_of_one},
    {.code = "block-scale-underflow",
     .report = "NVIDIA/Model-Optimizer#1397",
     .in_rows =
         [](const Module& m, const QuantizedTensor& rows) {
           return m.reading.format.scale == kE4M3 ? zero_scale_over_codes(rows) : std::string();
         }},
    {.code = "zero-scale-nan-codes", .report = "", .in_rows = [](const Module&, const QuantizedTensor& rows) {
       return zero_scale_over_nan(rows);
     }}};
inline constexpr Fingerprint modelopt{
    .name = "modelopt", .dialects = "modelopt modelopt-diffusers", .releases = kMoReleases, .faults = kMoFaults};

}  // namespace tessera::fingerprints
