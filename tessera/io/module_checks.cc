#include "tessera/io/module_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include "tessera/io/module_names.h"

namespace tessera {
namespace {

constexpr std::size_t kListedExperts = 16;  // missing ones that are named one by one, of each bank

void add(CheckpointScan& scan, std::string code, Errc error, std::string tensor, std::string message) {
  scan.add_problem({std::move(code), error, std::move(tensor), std::move(message), false});
}
void contradict(CheckpointScan& scan, std::string code, std::string tensor, std::string message) {
  scan.contradictions.push_back({std::move(code), std::move(tensor), std::move(message)});
  scan.warnings.push_back(scan.contradictions.back());
}

// A matrix that a bank holds may stand beside it as well; which of the two counts, nothing tells.
void check_names(CheckpointScan& scan) {
  for (std::size_t i = 1; i < scan.modules.size(); ++i) {
    const Module &a = scan.modules[i - 1], &b = scan.modules[i];
    if (a.name == b.name)
      add(scan, "twice", Errc::kCorrupt, b.codes->name,
          fmt::format("{} stands twice: in {} and in {}", a.name, a.codes->name, b.codes->name));
  }
}

// Banks are complete: the same parts of every expert, as many as the configuration says.
void check_experts(CheckpointScan& scan) {
  std::map<std::string, std::map<std::int64_t, std::set<std::string>>> banks;
  for (const Module& m : scan.modules)
    if (const std::optional<ExpertName> e = expert_name(m.name)) banks[e->bank][e->index].insert(e->part);
  const std::int64_t declared = expert_count(scan.config);
  for (const auto& [bank, experts] : banks) {
    std::set<std::string> parts;
    for (const auto& [index, own] : experts) parts.insert(own.begin(), own.end());
    const bool shared = bank.ends_with("shared_experts");
    const std::int64_t count =
        std::max(experts.rbegin()->first + 1, shared ? 0 : std::min<std::int64_t>(declared, 1 << 20));
    std::size_t missing = static_cast<std::size_t>(count) * parts.size(), listed = 0;
    for (const auto& [index, own] : experts) missing -= own.size();
    for (std::int64_t i = 0; i < count && listed < missing; ++i) {
      const auto it = experts.find(i);
      for (const std::string& part : parts) {
        if (it != experts.end() && it->second.contains(part)) continue;
        if (listed++ == kListedExperts) {
          add(scan, "expert_missing", Errc::kNotFound, bank,
              fmt::format("{} lacks {} more matrices of its {} experts", bank, missing - kListedExperts, count));
          listed = missing;
          break;
        }
        add(scan, "expert_missing", Errc::kNotFound, fmt::format("{}.{}.{}", bank, i, part),
            fmt::format("{}.{}.{} is missing: the bank has {} experts with {}", bank, i, part, count,
                        fmt::join(parts, ", ")));
      }
    }
  }
}

void compare_with_declaration(CheckpointScan& scan) {
  if (scan.declared == nullptr) return;
  const Declaration& d = *scan.declared;
  std::map<std::string, std::pair<std::string, std::size_t>> foreign;  // dialect -> first module, count
  for (const Module& m : scan.modules) {
    const std::optional<DeclaredScheme>& scheme = m.reading.declared;
    if (!m.is_quantized()) {
      const ModuleKind kind = module_kind(m.name);
      if (scheme && m.is_matrix() && (kind == ModuleKind::kLinear || kind == ModuleKind::kHead))
        contradict(scan, "declared_quantized", m.codes->name,
                   fmt::format("{} declares {} as {}, but it is stored as {}; the bytes win", d.where, m.name,
                               scheme->label, m.codes->type));
      continue;
    }
    if (m.reading.dialect->name != d.dialect && m.reading.dialect->kin != d.dialect) {
      auto& [first, count] = foreign[std::string(m.reading.dialect->name)];
      if (count++ == 0) first = m.name;
    }
    const std::string_view family = format_family(m.reading.format);
    if (!scheme && d.names_modules)
      contradict(
          scan, "declared_dense", m.codes->name,
          fmt::format("{} leaves {} unquantized, but it is stored as {}; the bytes win", d.where, m.name, family));
    else if (scheme && !scheme->family.empty() && scheme->family != family)
      contradict(scan, "declared_otherwise", m.codes->name,
                 fmt::format("{} declares {} as {}, but it is stored as {}; the bytes win", d.where, m.name,
                             scheme->label, family));
  }
  for (const auto& [dialect, seen] : foreign)
    contradict(scan, "declared_dialect", seen.first,
               fmt::format("{} declares {}, but {} modules ({} the first) are spelled as {}; names decide", d.where,
                           d.dialect, seen.second, seen.first, dialect));
}

}  // namespace

void check_modules(CheckpointScan& scan) {
  check_names(scan);
  check_experts(scan);
  compare_with_declaration(scan);
}

}  // namespace tessera
