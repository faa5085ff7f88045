// Codes of F8_E4M3FNUZ, whose exponents have another bias: the same byte is half as large as in E4M3. Bytes stay and
// scales are halved; but E4M3 has no 480, so a weight that holds the largest FNUZ number (0x7F: 240) keeps its scales,
// and its codes are re-encoded, which is exact unless it also holds odd multiples of 2^-10. Then it is refused. 0x80,
// which is NaN there and a reinterpreted -0 in practice, becomes 0. Source: spec/checkpoint-dialects.md 0.2.
#pragma once
#include "tessera/weights/fix.h"

namespace tessera::fixes {

Repair plan_fnuz(const Checkpoint& model, std::uint64_t most);

inline constexpr Fix fnuz{.name = "fnuz",
                          .description = "F8_E4M3FNUZ codes become E4M3 under halved scales, 0x80 becomes 0",
                          .report = "ROCm/Megatron-LM#130",
                          .plan = &plan_fnuz};

}  // namespace tessera::fixes
