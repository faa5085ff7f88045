// Experts that stand in one tensor: [experts, rows, columns], gate and up beside each other. A Bank is such a tensor
// (with its scales); its modules are the matrices in it, named as if each stood alone:
// "model.layers.0.mlp.experts.gate_up_proj" holds "model.layers.0.mlp.experts.3.gate_proj", "...3.up_proj" and so on.
// Source: spec/checkpoint-dialects.md 1.1 (MoE), 1.2, 1.6.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/io/container.h"
#include "tessera/io/declaration.h"
#include "tessera/io/grid.h"

namespace tessera {

// "experts.gate_up_proj", "mlp.mlp1_weight": names under which models keep all their experts.
bool is_bank_name(std::string_view name);
// num_experts, num_local_experts or n_routed_experts of a configuration; 0 where there is none.
std::int64_t expert_count(const ModelConfig& config);

// One matrix of every expert of a bank.
struct BankPart {
  std::string_view name;  // "gate_proj"
  std::int64_t first_row = 0, row_step = 1, rows = 0;
};
// The parts of a bank whose experts have `rows` rows each: gate and up take half of them, one above the other or, in
// gpt-oss, every second one. Throws kShape where two parts do not share the rows evenly.
std::vector<BankPart> bank_parts(std::string_view bank, std::int64_t rows, bool interleaved);
// The bank's folder and an expert's matrix in it: "….experts.3.gate_proj".
std::string expert_module(std::string_view bank, std::int64_t expert, std::string_view part);

// The bank that would hold a module if its experts stood in one tensor: the inverse of expert_module().
struct BankPlace {
  std::string bank;  // "….experts.gate_up_proj"
  std::int64_t expert = 0;
  std::int64_t part = 0, parts = 1;  // up_proj is part 1 of 2
};
std::optional<BankPlace> bank_place(std::string_view module);

struct Bank {
  std::string name;
  std::int64_t experts = 0;
  Extent extent{};  // of each expert, as its matrix multiplies: [out, in]
  std::vector<BankPart> parts;
  bool dense_transposed = false;               // how the same weights stand unquantized: [experts, in, out]
  const StoredTensor* bias = nullptr;          // [experts, out]
  std::vector<const StoredTensor*> tensors{};  // of the weight: codes, scales, globals
};

// Whether dense banks stand as [experts, in, out]. The two banks of one layer tell: the columns of one are the rows of
// the other. `gate_up`, `down`: their shapes.
bool stands_transposed(const std::vector<std::int64_t>& gate_up, const std::vector<std::int64_t>& down);

}  // namespace tessera
