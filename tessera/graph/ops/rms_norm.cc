#include "tessera/graph/ops/rms_norm.h"

#include "tessera/graph/row_builder.h"
#include "tessera/graph/row_shapes.h"

namespace tessera::graph {
namespace {

std::int64_t group_of(const Attrs& attrs, std::int64_t width) {
  const std::int64_t group = attrs.as<RmsNormAttrs>().group;
  return group == 0 ? width : group;
}

std::vector<ValueType> infer(std::span<const ValueType> in, std::span<const Param* const>, const Attrs& attrs) {
  require_rows("rms_norm", "x", in[0]);
  const std::int64_t group = group_of(attrs, in[0].width);
  require(group > 0 && in[0].width % group == 0 && in[1].kind == ValueType::Kind::kParam && in[1].width == group,
          Errc::kShape, "rms_norm: x has {} columns in groups of {}, w has {}", in[0].width, group, in[1].width);
  return {in[0]};
}

void lower(RowBuilder& rows, const Node& node, Value output) {
  const ValueType& type = rows.type(output);
  const std::int64_t group = group_of(node.attrs, type.width);
  const std::int64_t x = rows.read(node.inputs[0]), w = rows.read(node.inputs[1]);
  const std::int64_t mean = rows.temporary(type.width / group), y = rows.define(output);
  const int round = RowBuilder::rounding(type.dtype);
  rows.add({.op = RowOp::kMeanSquare,
            .round = RowBuilder::rounding(DType::kF32),
            .width = type.width,
            .group = group,
            .a = x,
            .d = mean});
  rows.add({.op = RowOp::kNormalize,
            .round = round,
            .width = type.width,
            .group = group,
            .a = x,
            .b = mean,
            .d = y,
            .number = node.attrs.as<RmsNormAttrs>().eps});
  rows.add({.op = RowOp::kMultiply, .round = round, .width = type.width, .group = group, .a = y, .b = w, .d = y});
}

}  // namespace

const Op ops::rms_norm{.name = "rms_norm", .fusion = Fusion::kRowwise, .infer = &infer, .lower = &lower};

Value rms_norm(Graph& g, Value x, Value w, RmsNormAttrs attrs) {
  return g.add(ops::rms_norm, Attrs::of(attrs), {x, w});
}

}  // namespace tessera::graph
