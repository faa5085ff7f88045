// Linear: y = x w^T + b. Several that read the same x are one operation (fused_linear), each with its own format.
#pragma once
#include <optional>

#include "tessera/graph/ops/linear.h"
#include "tessera/nn/module.h"

namespace tessera::nn {

enum class Bias : std::uint8_t { kNone, kPresent };

class Linear final : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, Bias bias);
  void visit(ModuleVisitor& v) override;
  graph::LinearPart part(graph::Graph& g) const;
  // x: [rows, in]; gives [rows, out] of `dtype`.
  graph::Value operator()(graph::Graph& g, graph::Value x, DType dtype) const;

  Param weight;               // [out, in]
  std::optional<Param> bias;  // [out]
};

// [rows, the sum of outs]: the results of the layers side by side.
graph::Value fused_linear(graph::Graph& g, graph::Value x, std::initializer_list<const Linear*> layers, DType dtype);

}  // namespace tessera::nn
