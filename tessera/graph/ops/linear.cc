#include "tessera/graph/ops/linear.h"

#include "tessera/graph/row_shapes.h"
#include "tessera/kernels/gemm.h"

namespace tessera::graph {
namespace {

std::vector<ValueType> infer(std::span<const ValueType> in, std::span<const Param* const> params, const Attrs& attrs) {
  const auto& [dtype, biases] = attrs.as<LinearAttrs>();
  require_rows("linear", "x", in[0]);
  ValueType y{.dtype = parse_row_type(dtype)};
  std::size_t at = 1;
  for (const char has_bias : biases) {
    const Param* w = params[at++];
    require(w != nullptr && w->is_matrix(), Errc::kShape, "linear: the weight is no matrix");
    require(w->shape[1] == in[0].width, Errc::kShape, "linear: x has {} columns, {} has {}", in[0].width, w->name,
            w->shape[1]);
    y.width += w->shape[0];
    if (has_bias != 'b') continue;
    const Param* bias = params[at++];
    require(bias != nullptr && bias->shape == Shape{w->shape[0]}, Errc::kShape, "linear: {} has {} rows, its bias {}",
            w->name, w->shape[0], bias == nullptr ? "none" : shape_text(bias->shape));
  }
  return {y};
}

void run(const OpCall& call) {
  std::vector<GemmPart> parts;
  std::int64_t column = 0;
  std::size_t at = 1;
  for (const char has_bias : call.node.attrs.as<LinearAttrs>().biases) {
    GemmPart part{.w = &call.params[at++]->matrix, .column = column};
    if (has_bias == 'b') part.bias = call.params[at++]->vector.as<float>();
    column += part.w->extent.rows;
    parts.push_back(part);
  }
  gemm_nt(call.stream, {call.inputs[0], parts, call.outputs[0]});
}

}  // namespace

const Op ops::linear{.name = "linear", .infer = &infer, .run = &run};

Value linear(Graph& g, Value x, std::span<const LinearPart> parts, std::string_view dtype) {
  LinearAttrs attrs{.dtype = std::string(dtype), .biases = {}};
  std::vector<Value> inputs{x};
  for (const LinearPart& part : parts) {
    inputs.push_back(part.weight);
    if (part.bias) inputs.push_back(*part.bias);
    attrs.biases += part.bias ? 'b' : '-';
  }
  return g.add(ops::linear, Attrs::of(std::move(attrs)), std::move(inputs));
}

}  // namespace tessera::graph
