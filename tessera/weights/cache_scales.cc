#include "tessera/weights/cache_scales.h"

#include <cstring>

#include "tessera/base/error.h"
#include "tessera/weights/spelled.h"

namespace tessera {
namespace {

// Whether the last parts of the name are `suffix`: "kv_scale" does not end in "v_scale".
bool ends_in(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() && name.ends_with(suffix) && name[name.size() - suffix.size() - 1] == '.';
}

// The name of the attention layer that a scale of keys or values belongs to; "" for another name.
std::string_view layer_of(std::string_view name, std::string_view kind) {
  for (const Dialect* dialect : all_dialects()) {
    const std::string_view suffix = kind == "k" ? dialect->cache.key : dialect->cache.value;
    // The longer spelling is "k_proj.k_scale": what ends with it ends with "k_scale" as well.
    if (suffix.find('.') != std::string_view::npos && ends_in(name, suffix))
      return name.substr(0, name.size() - suffix.size() - 1);
  }
  for (const Dialect* dialect : all_dialects()) {
    const std::string_view suffix = kind == "k" ? dialect->cache.key : dialect->cache.value;
    if (!suffix.empty() && ends_in(name, suffix)) return name.substr(0, name.size() - suffix.size() - 1);
  }
  return "";
}

}  // namespace

PlannedTensor planned_cache_scale(const Checkpoint& in, const StoredTensor& scale, const Dialect& target) {
  PlannedTensor plan{scale.name, scale.dtype, scale.shape, in.place(scale).module};
  if (target.cache.key.empty() || scale.elements() != 1) return plan;
  for (const auto& [kind, suffix] :
       {std::pair{std::string_view("k"), target.cache.key}, {std::string_view("v"), target.cache.value}}) {
    const std::string_view layer = layer_of(scale.name, kind);
    if (layer.empty()) continue;
    const float value = element_as_float(in.load_tensor(scale), 0);
    plan.name = std::string(layer) + "." + std::string(suffix);
    plan.shape = target.cache.shape == ScaleShape::kOne ? Shape{1} : Shape{};
    plan.dtype = exact_dtype(target.cache.dtypes, std::span(&value, 1));
  }
  return plan;
}

void write_cache_scale(const Checkpoint& in, const StoredTensor& scale, const PlannedTensor& plan, ShardedWriter& to) {
  const Tensor stored = in.load_tensor(scale);
  if (plan.dtype == scale.dtype) return to.write(plan.name, 0, stored.span());
  const float value = element_as_float(stored, 0);
  const std::uint16_t half = bits16(plan.dtype, value);
  to.write(plan.name, 0,
           plan.dtype == DType::kF32 ? std::as_bytes(std::span(&value, 1)) : std::as_bytes(std::span(&half, 1)));
}

LayerCacheScales read_cache_scales(const Checkpoint& in, std::string_view layer) {
  LayerCacheScales scales;
  for (const StoredTensor& tensor : in.container().tensors()) {
    if (in.place(tensor).role != Role::kKvScale || tensor.elements() != 1) continue;
    for (const auto& [kind, scale] : {std::pair{std::string_view("k"), &scales.key}, {"v", &scales.value}}) {
      if (layer_of(tensor.name, kind) != layer) continue;
      *scale = element_as_float(in.load_tensor(tensor), 0);
      require(*scale > 0 && is_finite(*scale), Errc::kCorrupt, "{} is {}, no scale of a cache", tensor.name, *scale);
    }
  }
  return scales;
}

}  // namespace tessera
