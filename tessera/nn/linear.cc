#include "tessera/nn/linear.h"

namespace tessera::nn {

Linear::Linear(std::int64_t in, std::int64_t out, Bias has_bias) : weight{.shape = {out, in}} {
  if (has_bias == Bias::kPresent) bias = Param{.shape = {out}};
}

void Linear::visit(ModuleVisitor& v) {
  v.param("weight", weight);
  if (bias) v.param("bias", *bias);
}

graph::LinearPart Linear::part(graph::Graph& g) const {
  graph::LinearPart p{.weight = g.param(weight)};
  if (bias) p.bias = g.param(*bias);
  return p;
}

graph::Value Linear::operator()(graph::Graph& g, graph::Value x, DType dtype) const {
  return fused_linear(g, x, {this}, dtype);
}

graph::Value fused_linear(graph::Graph& g, graph::Value x, std::initializer_list<const Linear*> layers, DType dtype) {
  std::vector<graph::LinearPart> parts;
  for (const Linear* layer : layers) parts.push_back(layer->part(g));
  return graph::linear(g, x, parts, dtype_name(dtype));
}

}  // namespace tessera::nn
