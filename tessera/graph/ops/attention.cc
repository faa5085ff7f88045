#include "tessera/graph/ops/attention.h"

#include "tessera/graph/row_shapes.h"

namespace tessera::graph {
namespace {

std::vector<ValueType> infer(std::span<const ValueType> in, std::span<const Param* const>, const Attrs& attrs) {
  const AttentionAttrs& a = attrs.as<AttentionAttrs>();
  for (std::size_t i = 0; i < 3; ++i) require_rows("attention", i == 0 ? "q" : i == 1 ? "k" : "v", in[i]);
  const std::int64_t q = a.q_column + a.heads * a.head_width, k = a.k_column + a.kv_heads * a.head_width,
                     v = a.v_column + a.kv_heads * a.head_width;
  require(q <= in[0].width && k <= in[1].width && v <= in[2].width && a.kv_heads > 0 && a.heads % a.kv_heads == 0 &&
              a.head_width > 0 && a.head_width % 2 == 0,
          Errc::kShape, "attention: {} heads and {} key-value heads of width {} in rows of {}, {} and {}", a.heads,
          a.kv_heads, a.head_width, in[0].width, in[1].width, in[2].width);
  require(in[3].kind == ValueType::Kind::kState, Errc::kShape, "attention: the cache is {}", type_text(in[3]));
  return {{.dtype = in[0].dtype, .width = a.heads * a.head_width}, {.kind = ValueType::Kind::kState}};
}

void run(const OpCall& call) {
  const AttentionAttrs& a = call.node.attrs.as<AttentionAttrs>();
  auto* cache = dynamic_cast<KvState*>(call.states[3]);
  require(cache != nullptr && cache->store.page.heads == a.kv_heads && cache->store.page.width == a.head_width,
          Errc::kShape, "attention: the cache bound to it is not one of {} heads of width {}", a.kv_heads,
          a.head_width);
  write_keys_and_values(call.stream, {.k = call.inputs[1],
                                      .v = call.inputs[2],
                                      .key_column = a.k_column,
                                      .value_column = a.v_column,
                                      .rows = cache->rows,
                                      .store = cache->store});
  attend(call.stream, {.q = call.inputs[0],
                       .q_column = a.q_column,
                       .heads = a.heads,
                       .scale = a.scale,
                       .rows = cache->rows,
                       .store = cache->store,
                       .y = call.outputs[0]});
}

}  // namespace

const Op ops::attention{.name = "attention", .infer = &infer, .run = &run};

Attended attention(Graph& g, const AttentionInputs& in, AttentionAttrs attrs) {
  const Value y = g.add(ops::attention, Attrs::of(attrs), {in.q, in.k, in.v, in.cache});
  return {y, {y.node, 1}};
}

}  // namespace tessera::graph
