#include "tessera/graph/ops/slice.h"

#include "tessera/graph/row_builder.h"
#include "tessera/graph/row_shapes.h"

namespace tessera::graph {

const Op ops::slice{.name = "slice",
                    .fusion = Fusion::kRowwise,
                    .infer =
                        [](std::span<const ValueType> in, std::span<const Param* const>, const Attrs& attrs) {
                          const auto& [begin, width] = attrs.as<SliceAttrs>();
                          require_rows("slice", "x", in[0]);
                          require(begin >= 0 && width >= 0 && begin + width <= in[0].width, Errc::kShape,
                                  "slice: columns {} to {} of {}", begin, begin + width, in[0].width);
                          return std::vector{ValueType{.dtype = in[0].dtype, .width = width}};
                        },
                    .lower =
                        [](RowBuilder& rows, const Node& node, Value output) {
                          rows.read(node.inputs[0]);
                          rows.alias(output, node.inputs[0], node.attrs.as<SliceAttrs>().begin);
                        }};

Value slice(Graph& g, Value x, SliceAttrs attrs) { return g.add(ops::slice, Attrs::of(attrs), {x}); }

}  // namespace tessera::graph
