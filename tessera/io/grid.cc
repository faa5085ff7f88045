#include "tessera/io/grid.h"

#include <cstring>
#include <vector>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr std::int64_t kTileRows = 128;

// Calls fn(stored unit, unit of the rows, units side by side) for each run that is contiguous in both.
template <class Fn>
void for_runs(const Grid& grid, Extent part, std::int64_t first, const Fn& fn) {
  const std::int64_t run = grid.order == GridOrder::kRows ? part.cols : grid.order == GridOrder::kTiles ? 4 : 1;
  for (std::int64_t r = 0; r < part.rows; ++r)
    for (std::int64_t c = 0; c < part.cols; c += run)
      fn(grid.index(first + r, c), r * part.cols + c, std::min(run, part.cols - c));
}

}  // namespace

UnitRange units_of(const Grid& g, Extent part, std::int64_t first) {
  if (part.count() == 0) return {g.origin, g.origin};
  const std::int64_t last = g.first_row + (first + part.rows - 1) * g.row_step;
  switch (g.order) {
    case GridOrder::kRows:
      return {g.index(first, 0), g.origin + last * g.stored.cols + part.cols};
    case GridOrder::kColumns:
      return {g.origin, g.origin + g.stored.count()};
    case GridOrder::kTiles:
      break;
  }
  const std::int64_t begin = (g.first_row + first * g.row_step) / kTileRows, end = last / kTileRows + 1;
  return {g.origin + begin * kTileRows * g.stored.cols, g.origin + end * kTileRows * g.stored.cols};
}

void take_grid(const Container& from, const StoredTensor& tensor, const Grid& g, std::size_t unit, Extent part,
               std::int64_t first, std::span<std::byte> out) {
  if (part.count() == 0) return;
  TESSERA_ASSERT(out.size() == static_cast<std::size_t>(part.count()) * unit);
  const UnitRange range = units_of(g, part, first);
  const auto at = static_cast<std::uint64_t>(range.begin) * unit;
  if (g.order == GridOrder::kRows && range.end - range.begin == part.count()) return from.read(tensor, at, out);
  std::vector<std::byte> stored(static_cast<std::size_t>(range.end - range.begin) * unit);
  from.read(tensor, at, stored);
  for_runs(g, part, first, [&](std::int64_t s, std::int64_t r, std::int64_t count) {
    std::memcpy(&out[static_cast<std::size_t>(r) * unit], &stored[static_cast<std::size_t>(s - range.begin) * unit],
                static_cast<std::size_t>(count) * unit);
  });
}

void put_grid(std::span<const std::byte> rows, const Grid& g, std::size_t unit, Extent part, std::int64_t first,
              std::span<std::byte> stored, UnitRange range) {
  for_runs(g, part, first, [&](std::int64_t s, std::int64_t r, std::int64_t count) {
    TESSERA_ASSERT(s >= range.begin && s + count <= range.end);
    std::memcpy(&stored[static_cast<std::size_t>(s - range.begin) * unit], &rows[static_cast<std::size_t>(r) * unit],
                static_cast<std::size_t>(count) * unit);
  });
}

}  // namespace tessera
