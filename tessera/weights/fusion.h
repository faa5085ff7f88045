// Fusion groups: weights that read the same input and run as one GEMM, so that exporters give them one global scale.
// Source: spec/checkpoint-dialects.md 5.1.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/io/dialect.h"

namespace tessera {

// For each module, the members of its group (itself included), in the order of `modules`. A group is made of siblings:
// names that differ in the last part only. Groups are those of the dialect (Dialect::fused); a module outside them
// stands alone.
std::vector<std::vector<std::size_t>> fusion_groups(std::span<const std::string> modules, const Dialect& dialect);

}  // namespace tessera
