// compressed-tensors up to 0.13 took the offset of MXFP4 exponents off twice, so that weights read four times too
// small. Builds of the days between were right under the same number, so the version alone decides nothing: the weights
// must also be about a quarter of the model's unquantized ones of the same kind. Bytes are added to modulo 256, as they
// were subtracted. Source: spec/checkpoint-dialects.md 2.2, 4.4.
#pragma once
#include "tessera/weights/fix.h"

namespace tessera::fixes {

Repair plan_mxfp4_exponent_offset(const Checkpoint& model, std::uint64_t most);

inline constexpr Fix mxfp4_exponent_offset{
    .name = "mxfp4-exponent-offset",
    .description = "MXFP4 exponents that compressed-tensors up to 0.13 stored 2 too small get it back",
    .report = "vllm-project/compressed-tensors#538, #541",
    .plan = &plan_mxfp4_exponent_offset};

}  // namespace tessera::fixes
