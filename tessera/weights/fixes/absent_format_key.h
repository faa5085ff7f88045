// compressed-tensors takes a group's format from the group, then from the top level, then infers it; many readers do
// not infer. Source: spec/checkpoint-dialects.md 1.1.
#pragma once
#include "tessera/weights/fix.h"

namespace tessera::fixes {

Repair plan_absent_format_key(const Checkpoint& model, std::uint64_t most);

inline constexpr Fix absent_format_key{
    .name = "absent-format-key",
    .description = "a compressed-tensors configuration whose groups name no format gets the names",
    .report = "vllm-project/compressed-tensors#799",
    .plan = &plan_absent_format_key};

}  // namespace tessera::fixes
