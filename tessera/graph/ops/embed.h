// embed: rows of a table. ids: [rows, 1] I32; table: a parameter [vocabulary, width]; gives [rows, width] of `dtype`,
// the table's own values rounded once. Throws kInvalid for an id outside of the table, when it runs.
#pragma once
#include "tessera/graph/graph.h"

namespace tessera::graph {
namespace ops {
extern const Op embed;
}
struct EmbedAttrs {
  std::string dtype = "F32";
  template <class V>
  void visit(V&& v) const {
    v("dtype", dtype);
  }
};
Value embed(Graph& g, Value ids, Value table, EmbedAttrs attrs);
}  // namespace tessera::graph
