// What ops ask of their inputs' types.
#pragma once
#include <span>

#include "tessera/graph/op.h"

namespace tessera::graph {

// Throws kShape unless the type is rows of floats; with `like` of its width and type too.
void require_rows(std::string_view op, std::string_view what, const ValueType& type);
void require_same(std::string_view op, const ValueType& x, const ValueType& y);
DType parse_row_type(std::string_view name);  // "F32", "BF16"; throws kInvalid

}  // namespace tessera::graph
