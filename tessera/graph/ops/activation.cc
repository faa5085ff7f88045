#include "tessera/graph/ops/activation.h"

#include <array>

#include "tessera/graph/row_builder.h"
#include "tessera/graph/row_shapes.h"

namespace tessera::graph {
namespace {

struct Function {
  std::string_view name;
  RowOp op;
};
constexpr std::array<Function, 7> kFunctions{{{"silu", RowOp::kSilu},
                                              {"swish", RowOp::kSilu},
                                              {"gelu", RowOp::kGelu},
                                              {"gelu_pytorch_tanh", RowOp::kGeluTanh},
                                              {"gelu_new", RowOp::kGeluTanh},
                                              {"sigmoid", RowOp::kSigmoid},
                                              {"tanh", RowOp::kTanh}}};

RowOp find_function(std::string_view name) {
  std::string known;
  for (const Function& f : kFunctions) {
    if (f.name == name) return f.op;
    known.append(known.empty() ? "" : ", ").append(f.name);
  }
  fail(Errc::kUnsupported, "no activation '{}'; there are: {}", name, known);
}

}  // namespace

const Op ops::activation{.name = "activation",
                         .fusion = Fusion::kRowwise,
                         .infer =
                             [](std::span<const ValueType> in, std::span<const Param* const>, const Attrs& attrs) {
                               require_rows("activation", "x", in[0]);
                               find_function(attrs.as<ActivationAttrs>().function);
                               return std::vector{in[0]};
                             },
                         .lower =
                             [](RowBuilder& rows, const Node& node, Value output) {
                               const std::int64_t x = rows.read(node.inputs[0]);
                               const ValueType& type = rows.type(output);
                               rows.add({.op = find_function(node.attrs.as<ActivationAttrs>().function),
                                         .round = RowBuilder::rounding(type.dtype),
                                         .width = type.width,
                                         .a = x,
                                         .d = rows.define(output)});
                             }};

Value activation(Graph& g, Value x, ActivationAttrs attrs) {
  return g.add(ops::activation, Attrs::of(std::move(attrs)), {x});
}

}  // namespace tessera::graph
