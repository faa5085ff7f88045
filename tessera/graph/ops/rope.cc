#include "tessera/graph/ops/rope.h"

#include "tessera/graph/row_builder.h"
#include "tessera/graph/row_shapes.h"

namespace tessera::graph {

const Op ops::rope{.name = "rope",
                   .fusion = Fusion::kRowwise,
                   .infer =
                       [](std::span<const ValueType> in, std::span<const Param* const>, const Attrs& attrs) {
                         const auto& [head, rotary] = attrs.as<RopeAttrs>();
                         require_rows("rope", "x", in[0]);
                         require_rows("rope", "angles", in[1]);
                         require(head > 0 && in[0].width % head == 0 && rotary > 0 && rotary <= head &&
                                     rotary % 2 == 0 && in[1].width == rotary,
                                 Errc::kShape, "rope: {} columns in heads of {}, {} of them rotated by {} angles",
                                 in[0].width, head, rotary, in[1].width);
                         return std::vector{in[0]};
                       },
                   .lower =
                       [](RowBuilder& rows, const Node& node, Value output) {
                         const std::int64_t x = rows.read(node.inputs[0]), angles = rows.read(node.inputs[1]);
                         const ValueType& type = rows.type(output);
                         const RopeAttrs& attrs = node.attrs.as<RopeAttrs>();
                         rows.add({.op = RowOp::kRope,
                                   .round = RowBuilder::rounding(type.dtype),
                                   .width = type.width,
                                   .group = attrs.head_width,
                                   .rotary = attrs.rotary,
                                   .a = x,
                                   .b = angles,
                                   .d = rows.define(output)});
                       }};

Value rope(Graph& g, Value x, Value angles, RopeAttrs attrs) { return g.add(ops::rope, Attrs::of(attrs), {x, angles}); }

}  // namespace tessera::graph
