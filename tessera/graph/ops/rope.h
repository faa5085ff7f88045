// rope: rotates the first `rotary` columns of each head by the row's angles, halves apart: (a, b) -> (a cos - b sin,
// b cos + a sin), each product and sum rounded to x's type. angles: [rows, rotary], cosines then sines (rope_angles).
// Source: Su et al., RoFormer (2021); halves instead of neighbours as in GPT-NeoX.
#pragma once
#include "tessera/graph/graph.h"

namespace tessera::graph {
namespace ops {
extern const Op rope;
}
struct RopeAttrs {
  std::int64_t head_width = 0, rotary = 0;
  template <class V>
  void visit(V&& v) const {
    v("head_width", head_width);
    v("rotary", rotary);
  }
};
Value rope(Graph& g, Value x, Value angles, RopeAttrs attrs);
}  // namespace tessera::graph
