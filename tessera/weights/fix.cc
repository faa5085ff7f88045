#include "tessera/weights/fix.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera_registry/fixes.inc"

namespace tessera {

std::span<const Fix* const> all_fixes() { return kRegistry_fixes; }

const Fix& find_fix(std::string_view name) {
  std::string known;
  for (const Fix* fix : all_fixes()) {
    if (fix->name == name) return *fix;
    known.append(known.empty() ? "" : ", ").append(fix->name);
  }
  fail(Errc::kNotFound, "no fix '{}'; there are: {}", name, known);
}

bool FixedCheckpoint::changed() const {
  return std::any_of(applied.begin(), applied.end(), [](const AppliedFix& a) { return !a.findings.empty(); });
}

FixedCheckpoint apply_fixes(Checkpoint model, std::span<const Fix* const> fixes) {
  FixedCheckpoint fixed{.model = std::move(model)};
  for (const Fix* fix : fixes) {
    Repair repair = fix->plan(fixed.model, kEveryByte);
    require(repair.doubt.empty(), Errc::kCorrupt, "{} is not certain to be right here: {}", fix->name, repair.doubt);
    if (!repair.amendment.empty()) fixed.model = fixed.model.amended(repair.amendment);
    fixed.applied.push_back({fix, std::move(repair.findings)});
  }
  return fixed;
}

}  // namespace tessera
