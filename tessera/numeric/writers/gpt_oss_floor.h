// downcast_to_mxfp with its scales rounded down.
// Source: as gpt_oss.h.
#pragma once
#include "tessera/numeric/writers/gpt_oss.h"

namespace tessera::writers {

inline constexpr WriterOf<GptOssRule<GptOssMode::kFloor>> gpt_oss_floor{
    {.name = "gpt-oss:floor",
     .description = "triton_kernels (gpt-oss), MX with the floor of the exponent",
     .supports = &GptOssRule<GptOssMode::kFloor>::supports}};

}  // namespace tessera::writers
