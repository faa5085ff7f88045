#include "tessera/graph/row_shapes.h"

namespace tessera::graph {

void require_rows(std::string_view op, std::string_view what, const ValueType& type) {
  require(type.kind == ValueType::Kind::kRows && (type.dtype == DType::kF32 || type.dtype == DType::kBf16),
          Errc::kShape, "{}: {} is {}; rows of F32 or BF16 are wanted", op, what, type_text(type));
}

void require_same(std::string_view op, const ValueType& x, const ValueType& y) {
  require_rows(op, "x", x);
  require(x == y, Errc::kShape, "{}: x is {}, y is {}", op, type_text(x), type_text(y));
}

DType parse_row_type(std::string_view name) {
  const std::optional<DType> type = find_dtype(name);
  require(type == DType::kF32 || type == DType::kBf16, Errc::kInvalid, "rows of {}; there are F32 and BF16", name);
  return *type;
}

}  // namespace tessera::graph
