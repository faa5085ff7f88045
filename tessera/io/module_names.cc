#include "tessera/io/module_names.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "tessera/io/patterns.h"

namespace tessera {
namespace {

bool is_number(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string without(std::string_view name, std::string_view part) {
  std::string result(name);
  const std::size_t at = result.find(part);
  if (at != std::string::npos) result.erase(at, part.size());
  return result;
}

// The name with each all-digit component replaced, and the rest passed through `literal`.
std::string generalized(std::string_view name, std::string_view number, std::string_view dot) {
  std::string result;
  while (true) {
    const std::size_t end = name.find('.');
    const std::string_view part = name.substr(0, end);
    result += is_number(part) ? number : part;
    if (end == std::string_view::npos) return result;
    result += dot;
    name.remove_prefix(end + 1);
  }
}

using Matches = std::function<bool(const std::string& pattern, const std::string& name)>;

std::vector<std::string> cover(std::span<const std::string> wanted, std::span<const std::string> others,
                               const std::function<std::string(std::string_view)>& pattern_of, const Matches& matches) {
  std::map<std::string, std::vector<std::string>> families;
  for (const std::string& name : wanted) families[pattern_of(name)].push_back(name);
  const std::set<std::string> kept(wanted.begin(), wanted.end());
  std::vector<std::string> result;
  for (const auto& [pattern, names] : families) {
    const bool strays = std::any_of(others.begin(), others.end(), [&, &p = pattern](const std::string& other) {
      return !kept.contains(other) && matches(p, other);
    });
    if (names.size() > 1 && !strays)
      result.push_back(pattern);
    else
      result.insert(result.end(), names.begin(), names.end());
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

std::vector<std::string> name_variants(std::string_view module) {
  std::vector<std::string> result{std::string(module)};
  const auto add = [&](std::string name) {
    if (std::find(result.begin(), result.end(), name) == result.end()) result.push_back(std::move(name));
  };
  add(without(module, "language_model."));
  for (const std::string& name : std::vector(result))
    if (name.starts_with("model.")) add(name.substr(6));
  return result;
}

std::vector<std::string> cover_names(std::span<const std::string> wanted, std::span<const std::string> others) {
  return cover(
      wanted, others, [](std::string_view name) { return "re:^" + generalized(name, "\\d+", "\\.") + "$"; },
      [](const std::string& pattern, const std::string& name) {
        return "re:^" + generalized(name, "\\d+", "\\.") + "$" == pattern;
      });
}

std::vector<std::string> cover_names_by_globs(std::span<const std::string> wanted,
                                              std::span<const std::string> others) {
  return cover(
      wanted, others, [](std::string_view name) { return generalized(name, "*", "."); },
      [](const std::string& pattern, const std::string& name) { return glob_matches(pattern, name); });
}

std::string numbers_hidden(std::string_view name) { return generalized(name, "*", "."); }

ModuleKind module_kind(std::string_view module) {
  const std::size_t dot = module.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? module : module.substr(dot + 1);
  const auto contains = [&](std::string_view word) { return last.find(word) != std::string_view::npos; };
  if (last == "lm_head" || last == "output" || last == "head") return ModuleKind::kHead;
  if (contains("embed") || last == "wte" || last == "wpe" || last == "shared" || last == "relative_attention_bias")
    return ModuleKind::kEmbedding;
  if (contains("norm") || last.starts_with("ln_")) return ModuleKind::kNorm;
  // The small projections of a gated delta net steer its heads as a router steers experts: exporters leave both dense.
  if (last == "gate" || last == "router" || last == "shared_expert_gate" || last == "in_proj_a" || last == "in_proj_b")
    return ModuleKind::kRouter;
  return ModuleKind::kLinear;
}

std::optional<ExpertName> expert_name(std::string_view module) {
  constexpr std::string_view kBank = "experts.";
  const std::size_t at = module.rfind(kBank);
  if (at == std::string_view::npos || (at > 0 && module[at - 1] != '.')) return {};
  std::string_view rest = module.substr(at + kBank.size());
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos || dot > 6 || !is_number(rest.substr(0, dot))) return {};
  return ExpertName{std::string(module.substr(0, at + kBank.size() - 1)), std::stoll(std::string(rest.substr(0, dot))),
                    std::string(rest.substr(dot + 1))};
}

}  // namespace tessera
