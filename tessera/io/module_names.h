// Names of modules as configurations list them: prefixes come and go, and thousands of names differ in indices only.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// The spellings under which a configuration may mean this module: as it stands; without "language_model." inside;
// without a leading "model."; each once, the most literal first.
std::vector<std::string> name_variants(std::string_view module);

// A short list of patterns that match every name of `wanted` and none of `others`:
// "re:^model\.layers\.\d+\.mlp\.up_proj$" where all the names that differ only in numbers belong together, else the
// names themselves. Sorted.
std::vector<std::string> cover_names(std::span<const std::string> wanted, std::span<const std::string> others);
// The same in shell patterns ("model.layers.*.mlp.gate"), for declarations that use those.
std::vector<std::string> cover_names_by_globs(std::span<const std::string> wanted, std::span<const std::string> others);

// The name with "*" for every part that is a number: what the layers of a model have in common.
std::string numbers_hidden(std::string_view name);

// What a weight of two axes is, by its module's name.
enum class ModuleKind : std::uint8_t { kLinear, kEmbedding, kNorm, kRouter, kHead };
ModuleKind module_kind(std::string_view module);

// "model.layers.3.mlp.experts" and 12 of "model.layers.3.mlp.experts.12.up_proj"; nothing for other names.
struct ExpertName {
  std::string bank;
  std::int64_t index = 0;
  std::string part;  // "up_proj"
};
std::optional<ExpertName> expert_name(std::string_view module);

}  // namespace tessera
