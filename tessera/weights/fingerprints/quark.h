// AMD Quark: no code is ever -0; a block scale of zero, underflow included, is 1, and an exponent is never the byte 0.
// Source: spec/checkpoint-dialects.md 2.8, 2.10; AMD Quark 0.13.
#pragma once
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr ByteRange kQuarkZeroBlock[] = {{0x38, 0x38}};
inline constexpr ByteRange kQuarkEven[] = {{1, 1}}, kQuarkOther[] = {{0x68, 0x68}};
inline constexpr Signature kQuark[] = {{.families = "NVFP4",
                                        .zero_blocks = kQuarkZeroBlock,
                                        .others = {0x01, 0x7e},
                                        .minus_zero = MinusZero::kNever,
                                        .digits = Digits::kAll,
                                        .zero_weight = ZeroWeight{.global = 0x1p-23f}},
                                       {.families = "MXFP4",
                                        .zero_blocks = kQuarkEven,
                                        .others = {1, 254},
                                        .largest = {6, 7},
                                        .minus_zero = MinusZero::kNever},
                                       {.families = "MXFP4",
                                        .zero_blocks = kQuarkOther,
                                        .others = {1, 254},
                                        .largest = {4, 7},
                                        .minus_zero = MinusZero::kNever},
                                       {.families = "FP8"}};
inline constexpr Release kQuarkReleases[] = {{"0.13", kQuark}};
inline constexpr Fingerprint quark{.name = "quark", .dialects = "quark", .releases = kQuarkReleases};

}  // namespace tessera::fingerprints
