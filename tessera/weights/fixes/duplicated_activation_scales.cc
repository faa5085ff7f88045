#include "tessera/weights/fixes/duplicated_activation_scales.h"

#include <cmath>
#include <map>

#include "tessera/base/error.h"

namespace tessera::fixes {
namespace {

// Every name that some dialect has for an activation scale beside a weight, and its sense.
std::map<std::string_view, Sense> conventions() {
  std::map<std::string_view, Sense> all;
  for (const Dialect* dialect : all_dialects())
    for (const Spelling& s : dialect->spellings)
      if (!s.activation.empty() && !s.glued) all.emplace(s.activation, s.activation_sense);
  return all;
}

std::optional<StoredGlobal> number_of(const Checkpoint& model, const StoredTensor& t, Sense sense) {
  if (t.elements() != 1 || (t.dtype != DType::kF32 && t.dtype != DType::kBf16 && t.dtype != DType::kF16)) return {};
  return StoredGlobal{element_as_float(model.load_tensor(t), 0), sense};
}

// The same scale, in either sense: both are roundings of one number, a unit of BF16 apart at most.
bool is_same(const StoredGlobal& a, const StoredGlobal& b) {
  return is_finite(a.value()) && a.value() > 0 && std::fabs(a.value() - b.value()) <= 0x1p-8f * a.value();
}

}  // namespace

Repair plan_duplicated_activation_scales(const Checkpoint& model, std::uint64_t) {
  Repair repair;
  const std::map<std::string_view, Sense> all = conventions();
  const auto drop = [&](const StoredTensor& t, std::string message) {
    repair.findings.push_back({t.name, std::move(message)});
    repair.amendment.dropped.insert(t.name);
  };
  for (const Module& m : model.modules()) {
    if (!m.is_quantized() || !m.bank.empty()) continue;
    const Spelling& s = *m.reading.spelling;
    const bool weight_only = m.reading.declared && m.reading.declared->activation == ActivationScheme::kNone;
    const StoredTensor* own = m.activation_tensor;
    if (own != nullptr && weight_only)
      drop(*own, fmt::format("{} is left over: {} is declared with activations as they are", own->name, m.name));
    for (const auto& [suffix, sense] : all) {
      if (suffix == s.activation || s.notes.find(suffix) != std::string_view::npos) continue;
      const StoredTensor* other = model.container().find(s.name_of(m.name, suffix));
      if (other == nullptr) continue;
      const std::optional<StoredGlobal> theirs = number_of(model, *other, sense),
                                        ours =
                                            own != nullptr ? number_of(model, *own, s.activation_sense) : std::nullopt;
      if (own != nullptr)
        drop(*other,
             fmt::format("{} stands beside {}, which {} uses", other->name, own->name, m.reading.dialect->name));
      else
        drop(*other, fmt::format("{} is no tensor of {}", other->name, m.reading.dialect->name));
      if (weight_only || !repair.doubt.empty()) continue;
      if (own == nullptr)
        repair.doubt = fmt::format("{} is the only activation scale of {}, and may be meant", other->name, m.name);
      else if (!theirs || !ours || !is_same(*theirs, *ours))
        repair.doubt = fmt::format("{} and {} say different things", other->name, own->name);
    }
  }
  if (!repair.doubt.empty()) repair.amendment = {};
  return repair;
}

}  // namespace tessera::fixes
