// Scales of the KV cache in the spelling of a dialect. They multiply everywhere; names, shapes and dtypes differ.
#pragma once
#include <string>
#include <string_view>

#include "tessera/io/checkpoint.h"
#include "tessera/io/sharded_writer.h"

namespace tessera {

// The tensor that says the same in `target`. A scale of one number for keys or values takes the target's name, shape
// and the first of its dtypes that holds the number exactly; any other (per head, of queries, a bias) stays as it is.
PlannedTensor planned_cache_scale(const Checkpoint& in, const StoredTensor& scale, const Dialect& target);
// Writes it; `plan`: as planned_cache_scale() gave it.
void write_cache_scale(const Checkpoint& in, const StoredTensor& scale, const PlannedTensor& plan, ShardedWriter& to);

// The scales of one number that a checkpoint holds for an attention layer's cached keys and values
// ("model.layers.0.self_attn"); 1 where it has none.
struct LayerCacheScales {
  float key = 1, value = 1;
};
LayerCacheScales read_cache_scales(const Checkpoint& in, std::string_view layer);

}  // namespace tessera
