// activation: an elementwise function by the name that model configurations give it: silu, gelu, gelu_pytorch_tanh,
// sigmoid, tanh. Throws kUnsupported for another name, listing these.
#pragma once
#include <string>

#include "tessera/graph/graph.h"

namespace tessera::graph {
namespace ops {
extern const Op activation;
}
struct ActivationAttrs {
  std::string function;
  template <class V>
  void visit(V&& v) const {
    v("function", function);
  }
};
Value activation(Graph& g, Value x, ActivationAttrs attrs);
}  // namespace tessera::graph
