// A Grid: where the units of one matrix stand in a stored tensor, whatever way its exporter laid them out. A unit is
// what one index moves by: a byte of codes, a block scale, a number of a dense weight.
//
// Law: put(take(x)) == x and take(put(x)) == x, for every order, part and padding (io/grid_test.cc).
// Source: spec/checkpoint-dialects.md 0.5 and 1.2; NVIDIA cuBLAS 13 manual, "1D block scaling factors layout".
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/io/container.h"
#include "tessera/numeric/format.h"

namespace tessera {

enum class GridOrder : std::uint8_t {
  kRows,     // row after row
  kColumns,  // column after column: the transposed matrix is stored
  kTiles,    // tiles of 128 rows x 4 columns, 512 units each, rows that are 32 apart beside each other
};

// The least multiple of `step` that holds `n`.
constexpr std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

struct Grid {
  GridOrder order = GridOrder::kRows;
  Extent stored{};          // the grid that holds it: all rows of one expert, padding counted; kTiles: whole tiles
  std::int64_t origin = 0;  // units before that: the experts before it
  std::int64_t first_row = 0, row_step = 1;  // which of the stored rows are the matrix's

  bool operator==(const Grid&) const = default;
  // Units from the beginning of the tensor to row r, column c of the matrix.
  constexpr std::int64_t index(std::int64_t r, std::int64_t c) const {
    const std::int64_t row = first_row + r * row_step;
    if (order == GridOrder::kColumns) return origin + c * stored.rows + row;
    if (order == GridOrder::kRows) return origin + row * stored.cols + c;
    return origin + (row / 128 * (stored.cols / 4) + c / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + c % 4;
  }
};

// Stored units [begin, end) that rows [first, first + part.rows) and columns [0, part.cols) of the matrix are among.
struct UnitRange {
  std::int64_t begin = 0, end = 0;
};
UnitRange units_of(const Grid& grid, Extent part, std::int64_t first);

// Reads rows [first, first + part.rows), columns [0, part.cols) of the matrix into `out`, row after row. `unit`: bytes.
// Memory besides `out`: the stored bytes that hold them, where they do not stand row after row.
void take_grid(const Container& from, const StoredTensor& tensor, const Grid& grid, std::size_t unit, Extent part,
               std::int64_t first, std::span<std::byte> out);

// The same rows into `stored`, which is units [range.begin, range.end) of the tensor; what is there besides stays.
void put_grid(std::span<const std::byte> rows, const Grid& grid, std::size_t unit, Extent part, std::int64_t first,
              std::span<std::byte> stored, UnitRange range);

}  // namespace tessera
