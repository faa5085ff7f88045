// RmsNorm: graph/ops/rms_norm.h with its weight. Rows wider than the weight are normed in runs of its width (the heads
// of q and k).
#pragma once
#include "tessera/graph/ops/rms_norm.h"
#include "tessera/nn/module.h"

namespace tessera::nn {

class RmsNorm final : public Module {
 public:
  RmsNorm(std::int64_t width, float eps) : weight{.shape = {width}}, eps_(eps) {}
  void visit(ModuleVisitor& v) override { v.param("weight", weight); }
  graph::Value operator()(graph::Graph& g, graph::Value x) const {
    const std::int64_t width = weight.shape[0];
    return graph::rms_norm(g, x, g.param(weight), {.eps = eps_, .group = g.type(x).width == width ? 0 : width});
  }

  Param weight;  // [width]

 private:
  float eps_;
};

}  // namespace tessera::nn
