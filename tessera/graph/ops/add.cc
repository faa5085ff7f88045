#include "tessera/graph/ops/add.h"

#include "tessera/graph/row_builder.h"
#include "tessera/graph/row_shapes.h"

namespace tessera::graph {

const Op ops::add{.name = "add",
                  .fusion = Fusion::kRowwise,
                  .infer =
                      [](std::span<const ValueType> in, std::span<const Param* const>, const Attrs&) {
                        require_same("add", in[0], in[1]);
                        return std::vector{in[0]};
                      },
                  .lower =
                      [](RowBuilder& rows, const Node& node, Value output) {
                        const std::int64_t x = rows.read(node.inputs[0]), y = rows.read(node.inputs[1]);
                        const ValueType& type = rows.type(output);
                        rows.add({.op = RowOp::kAdd,
                                  .round = RowBuilder::rounding(type.dtype),
                                  .width = type.width,
                                  .a = x,
                                  .b = y,
                                  .d = rows.define(output)});
                      }};

Value add(Graph& g, Value x, Value y) { return g.add(ops::add, {}, {x, y}); }

}  // namespace tessera::graph
