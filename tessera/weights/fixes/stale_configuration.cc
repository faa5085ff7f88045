#include "tessera/weights/fixes/stale_configuration.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/weights/dequantize_checkpoint.h"
#include "tessera/weights/written_model.h"

namespace tessera::fixes {
namespace {

std::size_t unreadable(const Checkpoint& model) {
  return static_cast<std::size_t>(std::count_if(model.modules().begin(), model.modules().end(),
                                                [](const Module& m) { return !m.reading.complaints.empty(); }));
}

// A static scale stays; what is declared of a weight of another kind says nothing of this one's activations.
ActivationScheme activation_of(const Module& m) {
  if (m.activation) return ActivationScheme::kStatic;
  const std::optional<DeclaredScheme>& declared = m.reading.declared;
  const bool same = declared && declared->family == format_family(m.reading.format);
  return same && m.activation_scheme == ActivationScheme::kDynamic ? ActivationScheme::kDynamic
                                                                   : ActivationScheme::kNone;
}

}  // namespace

Repair plan_stale_configuration(const Checkpoint& model, std::uint64_t) {
  Repair repair;
  if (model.declared() == nullptr || !model.config().config.is_object()) return repair;
  ModelConfig config = model.config();
  erase_declarations(config);
  for (const ContainerWarning& w : model.warnings())
    if (w.code.starts_with("declared_")) repair.findings.push_back({w.tensor, w.message});
  std::optional<Checkpoint> without;
  const Checkpoint* read = &model;
  if (const std::size_t before = unreadable(model); before > 0) {
    Amendment silent;
    silent.config = config.config;
    silent.sidecar = config.sidecar;
    without = model.amended(silent);
    if (unreadable(*without) < before) {
      read = &*without;
      repair.findings.push_back({"", fmt::format("as {} has it, {} weights cannot be read; without it, {}",
                                                 model.declared()->where, before, unreadable(*without))});
    }
  }
  if (repair.findings.empty()) return repair;
  std::vector<WrittenModule> quantized;
  std::map<std::string_view, const Dialect*> dialects;
  for (const Module& m : read->modules()) {
    if (!m.reading.complaints.empty()) {
      repair.doubt =
          fmt::format("{} cannot be read, whatever is declared: {}", m.name, m.reading.complaints.front().message);
      return repair;
    }
    if (!m.is_quantized()) continue;
    quantized.push_back({m.name, m.reading.format, activation_of(m), m.reading.extent});
    dialects.emplace(m.reading.dialect->name, m.reading.dialect);
  }
  std::sort(quantized.begin(), quantized.end(),
            [](const WrittenModule& a, const WrittenModule& b) { return a.name < b.name; });
  const bool has_cache = std::any_of(read->container().tensors().begin(), read->container().tensors().end(),
                                     [&](const StoredTensor& t) { return read->place(t).role == Role::kKvScale; });
  // Weights of several dialects, or of one that is only read, have no declaration: then nothing is declared.
  if (dialects.size() == 1 && dialects.begin()->second->write_declaration != nullptr)
    declare(*dialects.begin()->second,
            written_model(*read, std::move(quantized), has_cache ? CacheScales::kPresent : CacheScales::kAbsent),
            config);
  repair.amendment.config = std::move(config.config);
  repair.amendment.sidecar = std::move(config.sidecar);
  return repair;
}

}  // namespace tessera::fixes
