// Activation scales that a module has twice, in the names of two exporters, or has although its activations are
// declared as they are. The other convention's is dropped where it says the same; where it does not, neither is known
// for right. Source: spec/checkpoint-dialects.md 1.1, 1.2.
#pragma once
#include "tessera/weights/fix.h"

namespace tessera::fixes {

Repair plan_duplicated_activation_scales(const Checkpoint& model, std::uint64_t most);

inline constexpr Fix duplicated_activation_scales{
    .name = "duplicated-activation-scales",
    .description = "activation scales of another convention beside a module's own, or that nothing uses, are left out",
    .report = "vllm-project/vllm#37563",
    .plan = &plan_duplicated_activation_scales};

}  // namespace tessera::fixes
