// AutoRound: statistics in f32; zero blocks have the scale 0, zero weights the global 0, and in a zero block of MX the
// exponent counts as 1. Whatever rounds to zero in NVFP4 and FP8 is +0.
// Source: spec/checkpoint-dialects.md 1.9, 2.6, 2.10; intel/auto-round 0.15.
#pragma once
#include "tessera/weights/fault_signs.h"
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr ByteRange kArZeroBlock[] = {{0x00, 0x00}};
inline constexpr ByteRange kArZeroExponent4[] = {{126, 126}, {128, 128}}, kArZeroExponent8[] = {{120, 120}, {128, 128}};
inline constexpr Signature kAr[] = {{.families = "NVFP4",
                                     .zero_blocks = kArZeroBlock,
                                     .others = {0x01, 0x7e},
                                     .minus_zero = MinusZero::kNever,
                                     .digits = Digits::kAll,
                                     .zero_weight = ZeroWeight{.global = 0}},
                                    {.families = "MXFP4", .zero_blocks = kArZeroExponent4},
                                    {.families = "MXFP8", .zero_blocks = kArZeroExponent8},
                                    {.families = "FP8", .minus_zero = MinusZero::kNever}};
inline constexpr Release kArReleases[] = {{"0.15", kAr}};
inline constexpr ExporterFault kArFaults[] = {{.code = "zero-global", .report = "", .in_model = &zero_globals}};
inline constexpr Fingerprint auto_round{.name = "auto-round",
                                        .dialects = "auto-round compressed-tensors fp8-block",
                                        .releases = kArReleases,
                                        .faults = kArFaults};

}  // namespace tessera::fingerprints
