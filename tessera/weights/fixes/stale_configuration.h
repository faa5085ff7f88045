// A declaration that contradicts the tensors, or because of which they cannot be read, is written anew from what they
// are. Source: spec/checkpoint-dialects.md 4.5.
#pragma once
#include "tessera/weights/fix.h"

namespace tessera::fixes {

Repair plan_stale_configuration(const Checkpoint& model, std::uint64_t most);

inline constexpr Fix stale_configuration{
    .name = "stale-configuration",
    .description = "a configuration that contradicts the tensors is rewritten from them",
    .report = "NVIDIA/TensorRT-LLM#16196, vllm-project/vllm#45102",
    .plan = &plan_stale_configuration};

}  // namespace tessera::fixes
