// slice: columns [begin, begin + width) of each row. No bytes move where the reader is in the same region.
#pragma once
#include "tessera/graph/graph.h"

namespace tessera::graph {
namespace ops {
extern const Op slice;
}
struct SliceAttrs {
  std::int64_t begin = 0, width = 0;
  template <class V>
  void visit(V&& v) const {
    v("begin", begin);
    v("width", width);
  }
};
Value slice(Graph& g, Value x, SliceAttrs attrs);
}  // namespace tessera::graph
