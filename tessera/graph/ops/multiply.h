// multiply: x * y, rows of one width and type.
#pragma once
#include "tessera/graph/graph.h"

namespace tessera::graph {
namespace ops {
extern const Op multiply;
}
Value multiply(Graph& g, Value x, Value y);
}  // namespace tessera::graph
