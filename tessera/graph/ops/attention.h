// attention: causal attention over a cache (kernels/attention.h). Writes the rows' keys and values into the cache, then
// attends. q, k, v: columns of rows; the result is [rows, heads * head_width] of q's type, and the cache's next
// version.
#pragma once
#include "tessera/graph/graph.h"
#include "tessera/kernels/attention.h"

namespace tessera::graph {
namespace ops {
extern const Op attention;
}
// One layer's cache, and the places of this run's rows in it.
struct KvState final : State {
  KvStore store{};
  std::span<const AttentionRow> rows{};
};
struct AttentionAttrs {
  std::int64_t heads = 0, kv_heads = 0, head_width = 0;
  float scale = 0;
  std::int64_t q_column = 0, k_column = 0, v_column = 0;
  template <class V>
  void visit(V&& v) const {
    v("heads", heads);
    v("kv_heads", kv_heads);
    v("head_width", head_width);
    v("scale", scale);
    v("q_column", q_column);
    v("k_column", k_column);
    v("v_column", v_column);
  }
};
struct Attended {
  Value y, cache;
};
struct AttentionInputs {
  Value q, k, v, cache;
};
Attended attention(Graph& g, const AttentionInputs& in, AttentionAttrs attrs);
}  // namespace tessera::graph
