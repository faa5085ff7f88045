#include "tessera/weights/written_model.h"

#include <algorithm>
#include <set>

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
    const bool linear = m.codes->shape.size() == 2 && kind != ModuleKind::kEmbedding && kind != ModuleKind::kNorm;
    if (linear && !names.contains(m.name)) model.dense.push_back(m.name);
  }
  if (!has_head) {
    model.dense.emplace_back("lm_head");
    std::sort(model.dense.begin(), model.dense.end());
  }
  return model;
}

}  // namespace tessera
