// Seeded matrices for laws: near-Gaussian values with what usually breaks a quantizer in them.
#pragma once
#include <cstdint>

#include "tessera/tensor/tensor.h"

namespace tessera::test {

// [rows, cols] F32, BF16 or F16: about N(0, 1) * 2^(-6 .. 1) by column, a row and a block of zeros, -0, subnormals,
// exact ties, one outlier. Philox, so the same everywhere.
Tensor random_matrix(DType dtype, Extent extent, std::uint64_t seed);

// A copy of rows [row, row + piece.rows) and columns [col, col + piece.cols).
Tensor piece_of(const Tensor& x, std::int64_t row, std::int64_t col, Extent piece);

// The transpose of a dense matrix.
Tensor transpose(const Tensor& x);

}  // namespace tessera::test
