// rope_angles: cosines and sines of position * frequency, for all layers of a model at once.
// positions: [rows, 1] I32; frequencies: a parameter [rotary / 2], in radians a token; gives [rows, rotary] of `dtype`:
// f32 products and functions, times `scale` (YaRN's), rounded once more.
#pragma once
#include "tessera/graph/graph.h"

namespace tessera::graph {
namespace ops {
extern const Op rope_angles;
}
struct RopeAnglesAttrs {
  std::string dtype = "F32";
  float scale = 1;
  template <class V>
  void visit(V&& v) const {
    v("dtype", dtype);
    v("scale", scale);
  }
};
Value rope_angles(Graph& g, Value positions, Value frequencies, RopeAnglesAttrs attrs);
}  // namespace tessera::graph
