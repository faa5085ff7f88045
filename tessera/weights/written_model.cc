#include "tessera/weights/written_model.h"

#include <algorithm>
#include <set>

#include "tessera/base/error.h"
#include "tessera/io/module_names.h"

namespace tessera {

WrittenModel written_model(const Checkpoint& in, std::vector<WrittenModule> quantized, CacheScales cache_scales) {
  WrittenModel model{.quantized = std::move(quantized), .dense = {}, .cache_scales = cache_scales};
  std::set<std::string_view> names;
  for (const WrittenModule& m : model.quantized) names.insert(m.name);
  bool has_head = false;
  for (const Module& m : in.modules()) {
    const ModuleKind kind = module_kind(m.name);
    has_head = has_head || kind == ModuleKind::kHead;
    const bool linear = m.is_matrix() && kind != ModuleKind::kEmbedding && kind != ModuleKind::kNorm;
    if (linear && !names.contains(m.name)) model.dense.push_back(m.name);
  }
  if (!has_head) {
    model.dense.emplace_back("lm_head");
    std::sort(model.dense.begin(), model.dense.end());
  }
  return model;
}

void require_written(const Dialect& dialect) {
  if (dialect.write_declaration != nullptr) return;
  std::string written;
  for (const Dialect* other : all_dialects())
    if (other->write_declaration != nullptr) written.append(written.empty() ? "" : ", ").append(other->name);
  fail(Errc::kUnsupported, "{} is only read; written are {}", dialect.name, written);
}

void require_self_contained(const Checkpoint& in, std::string_view what) {
  for (const Module& m : in.modules())
    if (m.companion != nullptr) {
      Error error(Errc::kUnsupported,
                  fmt::format("{} was quantized together with {}, and is not its layer's weight without "
                              "it: {} cannot say both. Export the model again without smoothing or SVD",
                              m.name, m.companion->name, what));
      error.in_tensor(m.companion->name);
      throw error;
    }
}

void declare(const Dialect& dialect, const WrittenModel& model, ModelConfig& config) {
  const bool has_file = config.config.is_object();
  if (!has_file && !dialect.declares_in_metadata) return;
  dialect.write_declaration(model, config);
  if (!has_file) config.config = Json();
}

}  // namespace tessera
