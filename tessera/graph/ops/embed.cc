#include "tessera/graph/ops/embed.h"

#include "tessera/graph/row_shapes.h"
#include "tessera/numeric/lanes.h"

namespace tessera::graph {
namespace {

std::vector<ValueType> infer(std::span<const ValueType> in, std::span<const Param* const> params, const Attrs& attrs) {
  require(in[0] == ValueType{.dtype = DType::kI32, .width = 1} && params[1] != nullptr && params[1]->is_matrix(),
          Errc::kShape, "embed: ids are {} and the table {}; [rows, 1] I32 and a matrix are wanted", type_text(in[0]),
          type_text(in[1]));
  return {{.dtype = parse_row_type(attrs.as<EmbedAttrs>().dtype), .width = params[1]->shape[1]}};
}

void run(const OpCall& call) {
  const PackedMatrix& table = call.params[1]->matrix;
  const Tensor& y = call.outputs[0];
  const auto* ids = call.inputs[0].as<std::int32_t>();
  const std::int64_t width = table.extent.cols;
  parallel_for(call.stream.pool(), y.extent().rows, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<float> values(static_cast<std::size_t>(width));
    for (std::int64_t row = begin; row < end; ++row) {
      require(ids[row] >= 0 && ids[row] < table.extent.rows, Errc::kInvalid, "token id {} of a vocabulary of {}",
              ids[row], table.extent.rows);
      read_values(table, ids[row], values);
      for (std::int64_t i = 0; i < width; ++i) {
        const float value = values[static_cast<std::size_t>(i)];
        if (y.dtype() == DType::kF32)
          y.as<float>()[row * width + i] = value;
        else
          y.as<std::uint16_t>()[row * width + i] = bits16(DType::kBf16, round_to(DType::kBf16, value));
      }
    }
  });
}

}  // namespace

const Op ops::embed{.name = "embed", .infer = &infer, .run = &run};

Value embed(Graph& g, Value ids, Value table, EmbedAttrs attrs) {
  return g.add(ops::embed, Attrs::of(std::move(attrs)), {ids, table});
}

}  // namespace tessera::graph
