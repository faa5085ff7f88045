// Blocks of attention, a function for each CPU tier (attention_lanes.h compiled in tier_avx2.cc and tier_avx512.cc).
#pragma once
#include "tessera/kernels/attention_block.h"

namespace tessera::cpu {

inline constexpr std::int64_t kWidestHead = 256;

void attend_avx2(const tessera_lanes::AttentionBlock& block);
void attend_avx512(const tessera_lanes::AttentionBlock& block);

}  // namespace tessera::cpu
