// rms_norm: w * round(x / sqrt(mean(x^2) + eps)), over the whole row or over each run of `group` columns, w repeated;
// the mean in f32, each of the two steps rounded to x's type.
// Source: Zhang and Sennrich, Root Mean Square Layer Normalization (2019); the order of roundings is transformers'.
#pragma once
#include "tessera/graph/graph.h"

namespace tessera::graph {
namespace ops {
extern const Op rms_norm;
}
struct RmsNormAttrs {
  float eps = 1e-6f;
  std::int64_t group = 0;  // 0: the row
  template <class V>
  void visit(V&& v) const {
    v("eps", eps);
    v("group", group);
  }
};
Value rms_norm(Graph& g, Value x, Value w, RmsNormAttrs attrs);
}  // namespace tessera::graph
