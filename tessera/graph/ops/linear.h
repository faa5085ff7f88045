// linear: x w^T + bias for one or several weights that read the same x, side by side in one result: [rows, the sum of
// their rows]. Each keeps its own format, scales and globals. Which sum it is: kernels/gemm.h.
#pragma once
#include <optional>
#include <vector>

#include "tessera/graph/graph.h"

namespace tessera::graph {
namespace ops {
extern const Op linear;
}
struct LinearAttrs {
  std::string dtype = "F32";  // of the result
  std::string biases;         // a letter a weight: 'b' where it has a bias, '-' where not
  template <class V>
  void visit(V&& v) const {
    v("dtype", dtype);
    v("biases", biases);
  }
};
struct LinearPart {
  Value weight;
  std::optional<Value> bias{};
};
Value linear(Graph& g, Value x, std::span<const LinearPart> parts, std::string_view dtype);
}  // namespace tessera::graph
