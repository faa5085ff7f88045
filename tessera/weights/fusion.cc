#include "tessera/weights/fusion.h"

namespace tessera {
namespace {

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t space = words.find(' ');
    if (words.substr(0, space) == word) return true;
    words = space == std::string_view::npos ? "" : words.substr(space + 1);
  }
  return false;
}

}  // namespace

std::vector<std::vector<std::size_t>> fusion_groups(std::span<const std::string> modules, const Dialect& dialect) {
  std::map<std::pair<std::string_view, const std::string_view*>, std::size_t> seen;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::string_view name = modules[i];
    const std::size_t dot = name.rfind('.');
    const std::string_view parent = dot == std::string_view::npos ? "" : name.substr(0, dot);
    const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
    const std::string_view* kind = nullptr;
    for (const std::string_view& words : dialect.fused)
      if (has_word(words, last)) kind = &words;
    if (kind == nullptr) {
      groups.push_back({i});
      continue;
    }
    const auto [it, fresh] = seen.try_emplace({parent, kind}, groups.size());
    if (fresh) groups.emplace_back();
    groups[it->second].push_back(i);
  }
  return groups;
}

}  // namespace tessera
