#include "tessera/weights/fixes/swapped_global_sense.h"

#include <cstring>

#include "tessera/base/error.h"

namespace tessera::fixes {
namespace {

enum class Look : std::uint8_t { kMultiplier, kDivisor, kNeither };

Look look_of(float global) {
  if (global >= 4e-7f && global <= 5e-2f) return Look::kMultiplier;
  return global >= 20.f && global <= 3e6f ? Look::kDivisor : Look::kNeither;
}

}  // namespace

Repair plan_swapped_global_sense(const Checkpoint& model, std::uint64_t) {
  Repair repair;
  std::string right, undecided;  // the first module of each
  for (const Module& m : model.modules()) {
    if (m.global_tensor == nullptr || !m.reading.complaints.empty() || !m.global) continue;
    const bool as_it_stands = m.global->bits == m.global_in_file && m.global->sense == m.reading.sense;
    if (!as_it_stands) continue;  // a zero weight's, or one whose original bits travelled with it
    const bool multiplies = m.reading.sense == Sense::kMultiply;
    const Look look = look_of(m.global_in_file);
    if (look == Look::kNeither) {
      if (undecided.empty()) undecided = fmt::format("{} is {}", m.global_tensor->name, m.global_in_file);
      continue;
    }
    if ((look == Look::kMultiplier) == multiplies) {
      if (right.empty()) right = fmt::format("{} is {}", m.global_tensor->name, m.global_in_file);
      continue;
    }
    repair.findings.push_back(
        {m.global_tensor->name, fmt::format("{} is {}, which {} where {} {}", m.global_tensor->name, m.global_in_file,
                                            multiplies ? "divides" : "multiplies", m.reading.dialect->name,
                                            multiplies ? "multiplies" : "divides")});
    if (m.global_tensor->elements() != 1 || m.global_tensor->dtype != DType::kF32) {
      repair.doubt = fmt::format("{} is no single F32 number", m.global_tensor->name);
      continue;
    }
    const StoredGlobal original{m.global_in_file, multiplies ? Sense::kDivide : Sense::kMultiply};
    const float value = across_sense(original, m.reading.sense);
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    repair.amendment.tensors.emplace(m.global_tensor->name, amend_whole(*m.global_tensor, std::move(bytes)));
    repair.amendment.globals.emplace(m.global_tensor->name, original);
  }
  if (repair.findings.empty()) return repair;
  if (!right.empty())
    repair.doubt = fmt::format("{}, and an exporter has one sense for all of a model", right);
  else if (!undecided.empty())
    repair.doubt = fmt::format("{}, which either sense may have", undecided);
  if (!repair.doubt.empty()) repair.amendment = {};
  return repair;
}

}  // namespace tessera::fixes
