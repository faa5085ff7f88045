// comfy-kitchen, the quantizer of ComfyUI: its global is rounded to the dtype of the weights; zero blocks have the
// scale 0; signs of zeros are kept. The published files of FLUX.2 and LTX-2 have the same layout. Source:
// spec/checkpoint-dialects.md 2.7, 2.10; Comfy-Org/comfy-kitchen 0.2.40.
#pragma once
#include "tessera/weights/fault_signs.h"
#include "tessera/weights/fingerprint.h"

namespace tessera::fingerprints {

inline constexpr ByteRange kCkZeroBlock[] = {{0x00, 0x00}};
inline constexpr Signature kCk[] = {{.families = "NVFP4",
                                     .zero_blocks = kCkZeroBlock,
                                     .others = {0x01, 0x7e},
                                     .digits = Digits::kOfWeights,
                                     .zero_weight = ZeroWeight{.global = 0, .nan_scales = true}},
                                    {.families = "MXFP8", .zero_blocks = kCkZeroBlock, .largest = {0x76, 0x7e}},
                                    {.families = "FP8"}};
inline constexpr Release kCkReleases[] = {{"0.2", kCk}};
inline constexpr ExporterFault kCkFaults[] = {
    {.code = "e8m0-byte-zero", .report = "", .in_rows = [](const Module& m, const QuantizedTensor& rows) {
       return m.reading.format.scale == kE8M0 ? zero_scale_over_codes(rows) : std::string();
     }}};
inline constexpr Fingerprint comfy_kitchen{.name = "comfy-kitchen",
                                           .dialects = "comfy-quant comfy-scaled bfl ltx2",
                                           .releases = kCkReleases,
                                           .faults = kCkFaults};

}  // namespace tessera::fingerprints
