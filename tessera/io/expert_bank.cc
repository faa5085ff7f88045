#include "tessera/io/expert_bank.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/io/module_names.h"

namespace tessera {
namespace {

// What models call the tensor, and what stands in it. `last`: the last part of the tensor's name.
struct BankKind {
  std::string_view last, first_part, second_part;
};
constexpr BankKind kKinds[] = {{"gate_up_proj", "gate_proj", "up_proj"},
                               {"down_proj", "down_proj", ""},
                               {"mlp1_weight", "gate_proj", "up_proj"},
                               {"mlp2_weight", "down_proj", ""}};

struct Split {
  std::string_view folder, last;
};
Split split_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

const BankKind* kind_of(std::string_view last) {
  for (const BankKind& kind : kKinds)
    if (kind.last == last) return &kind;
  return nullptr;
}

}  // namespace

bool is_bank_name(std::string_view name) {
  const auto [folder, last] = split_name(name);
  if (kind_of(last) == nullptr) return false;
  return last.starts_with("mlp") || folder == "experts" || folder.ends_with(".experts");
}

std::int64_t expert_count(const ModelConfig& config) {
  std::int64_t count = 0;
  for (const std::string_view key : {"num_experts", "num_local_experts", "n_routed_experts"})
    count = std::max(count, config.number(key).value_or(0));
  return count;
}

std::vector<BankPart> bank_parts(std::string_view bank, std::int64_t rows, bool interleaved) {
  const BankKind* kind = kind_of(split_name(bank).last);
  // A bank of another name is one matrix an expert, called as the bank is.
  if (kind == nullptr || kind->second_part.empty())
    return {{kind == nullptr ? split_name(bank).last : kind->first_part, 0, 1, rows}};
  require(rows % 2 == 0, Errc::kShape, "{} has {} rows an expert; {} and {} take half of them each", bank, rows,
          kind->first_part, kind->second_part);
  const std::int64_t half = rows / 2;
  if (interleaved) return {{kind->first_part, 0, 2, half}, {kind->second_part, 1, 2, half}};
  return {{kind->first_part, 0, 1, half}, {kind->second_part, half, 1, half}};
}

std::string expert_module(std::string_view bank, std::int64_t expert, std::string_view part) {
  const auto [folder, last] = split_name(bank);
  const std::string_view experts = folder == "experts" || folder.ends_with(".experts") ? "" : ".experts";
  return fmt::format("{}{}.{}.{}", folder, experts, expert, part);
}

std::optional<BankPlace> bank_place(std::string_view module) {
  const std::optional<ExpertName> name = expert_name(module);
  if (!name) return {};
  for (const BankKind& kind : kKinds) {
    if (name->part != kind.first_part && (kind.second_part.empty() || name->part != kind.second_part)) continue;
    return BankPlace{fmt::format("{}.{}", name->bank, kind.last), name->index, name->part == kind.second_part ? 1 : 0,
                     kind.second_part.empty() ? 1 : 2};
  }
  return {};
}

bool stands_transposed(const std::vector<std::int64_t>& gate_up, const std::vector<std::int64_t>& down) {
  if (gate_up.size() != 3 || down.size() != 3) return false;
  // Straight: gate_up [2I, H], down [H, I]. Transposed: gate_up [H, 2I], down [I, H].
  const bool straight = gate_up[2] == down[1] && gate_up[1] == 2 * down[2];
  const bool transposed = gate_up[1] == down[2] && gate_up[2] == 2 * down[1];
  return transposed && !straight;
}

}  // namespace tessera
