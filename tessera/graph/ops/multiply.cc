#include "tessera/graph/ops/multiply.h"

#include "tessera/graph/row_builder.h"
#include "tessera/graph/row_shapes.h"

namespace tessera::graph {

const Op ops::multiply{.name = "multiply",
                       .fusion = Fusion::kRowwise,
                       .infer =
                           [](std::span<const ValueType> in, std::span<const Param* const>, const Attrs&) {
                             require_same("multiply", in[0], in[1]);
                             return std::vector{in[0]};
                           },
                       .lower =
                           [](RowBuilder& rows, const Node& node, Value output) {
                             const std::int64_t x = rows.read(node.inputs[0]), y = rows.read(node.inputs[1]);
                             const ValueType& type = rows.type(output);
                             rows.add({.op = RowOp::kMultiply,
                                       .round = RowBuilder::rounding(type.dtype),
                                       .width = type.width,
                                       .a = x,
                                       .b = y,
                                       .d = rows.define(output)});
                           }};

Value multiply(Graph& g, Value x, Value y) { return g.add(ops::multiply, {}, {x, y}); }

}  // namespace tessera::graph
