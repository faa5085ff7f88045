// torchao: no block scale of NVFP4 is below 2^-6; the scale of a zero row or weight is 0, and its codes are NaN. Its MX
// modes differ in the largest codes of blocks; under all, a block of zeros has the byte 0.
// Source: spec/checkpoint-dialects.md 2.5, 2.10; pytorch/ao 0.18.
#pragma once
#include "tessera/weights/fault_signs.h"
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr ByteRange kAoZeroBlock[] = {{0x08, 0x08}};
inline constexpr ByteRange kAoZeroExponent[] = {{0, 0}};
inline constexpr Signature kAo[] = {
    {.families = "NVFP4",
     .zero_blocks = kAoZeroBlock,
     .others = {0x08, 0x7e},
     .digits = Digits::kAll,
     .zero_weight = ZeroWeight{.global = 0, .nan_scales = true}},
    // One level: without a global.
    {.families = "NVFP4", .zero_blocks = kAoZeroBlock, .others = {0x08, 0x7e}, .zero_weight = ZeroWeight{.global = 1}},
    {.families = "MXFP4", .zero_blocks = kAoZeroExponent, .largest = {6, 7}},  // floor, even
    {.families = "MXFP4", .zero_blocks = kAoZeroExponent, .largest = {4, 6}},  // ceil
    {.families = "MXFP4", .zero_blocks = kAoZeroExponent, .largest = {5, 7}},  // rceil
    {.families = "MXFP8", .zero_blocks = kAoZeroExponent},
    {.families = "FP8", .scale_dtypes = "F32"}};
inline constexpr Release kAoReleases[] = {{"0.18", kAo}};
inline constexpr ExporterFault kAoFaults[] = {
    {.code = "e8m0-byte-zero",
     .report = "",
     .in_rows =
         [](const Module& m, const QuantizedTensor& rows) {
           return m.reading.format.scale == kE8M0 ? zero_scale_over_codes(rows) : std::string();
         }},
    {.code = "zero-scale-nan-codes", .report = "", .in_rows = [](const Module&, const QuantizedTensor& rows) {
       return zero_scale_over_nan(rows);
     }}};
inline constexpr Fingerprint torchao{
    .name = "torchao", .dialects = "torchao", .releases = kAoReleases, .faults = kAoFaults};

}  // namespace tessera::fingerprints
