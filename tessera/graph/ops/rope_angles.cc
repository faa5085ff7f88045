#include "tessera/graph/ops/rope_angles.h"

#include "tessera/graph/row_shapes.h"
#include "tessera/numeric/math.h"

namespace tessera::graph {
namespace {

std::vector<ValueType> infer(std::span<const ValueType> in, std::span<const Param* const>, const Attrs& attrs) {
  require(in[0] == ValueType{.dtype = DType::kI32, .width = 1} && in[1].kind == ValueType::Kind::kParam, Errc::kShape,
          "rope_angles: positions are {} and frequencies {}; [rows, 1] I32 and a parameter are wanted",
          type_text(in[0]), type_text(in[1]));
  return {{.dtype = parse_row_type(attrs.as<RopeAnglesAttrs>().dtype), .width = 2 * in[1].width}};
}

void put(const Tensor& to, std::int64_t index, float value) {
  if (to.dtype() == DType::kF32)
    to.as<float>()[index] = value;
  else
    to.as<std::uint16_t>()[index] = bits16(DType::kBf16, round_to(DType::kBf16, value));
}

void run(const OpCall& call) {
  const float scale = call.node.attrs.as<RopeAnglesAttrs>().scale;
  const Tensor &positions = call.inputs[0], &frequencies = call.inputs[1], &angles = call.outputs[0];
  const std::int64_t half = frequencies.count();
  parallel_for(call.stream.pool(), positions.count(), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      const auto position = static_cast<float>(positions.as<std::int32_t>()[row]);
      for (std::int64_t i = 0; i < half; ++i) {
        const auto [sine, cosine] = math::sine_cosine(position * frequencies.as<float>()[i]);
        put(angles, row * 2 * half + i, cosine * scale);
        put(angles, row * 2 * half + half + i, sine * scale);
      }
    }
  });
}

}  // namespace

const Op ops::rope_angles{.name = "rope_angles", .infer = &infer, .run = &run};

Value rope_angles(Graph& g, Value positions, Value frequencies, RopeAnglesAttrs attrs) {
  return g.add(ops::rope_angles, Attrs::of(std::move(attrs)), {positions, frequencies});
}

}  // namespace tessera::graph
