#include "tessera/weights/fixes/scale_tile_padding.h"

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera::fixes {
namespace {

constexpr std::int64_t kTileRows = 128, kTileCols = 4;

// Bytes of tiles that lie outside a grid.
template <class Fn>
void for_padding(const Grid& tiles, Extent grid, const Fn& fn) {
  for (std::int64_t r = 0; r < tiles.stored.rows; ++r)
    for (std::int64_t c = r < grid.rows ? grid.cols : 0; c < tiles.stored.cols; ++c) fn(tiles.index(r, c));
}

bool is_padded_with_zeros(std::span<const std::byte> bytes, const Grid& tiles, Extent grid) {
  bool zero = true;
  for_padding(tiles, grid, [&](std::int64_t i) { zero = zero && bytes[static_cast<std::size_t>(i)] == std::byte{0}; });
  return zero;
}

// Rows of tiles are rebuilt as they are read, and not kept: scales of a large model are gigabytes.
AmendedTensor amend_tiles(std::vector<std::int64_t> shape, DType dtype, Grid from, Grid to, Extent grid) {
  return {dtype, std::move(shape),
          [=](const Container& container, const StoredTensor& stored, std::uint64_t begin, std::span<std::byte> into) {
            if (into.empty()) return;
            const std::int64_t band = kTileRows * to.stored.cols;  // bytes of one row of tiles
            const std::int64_t first = static_cast<std::int64_t>(begin) / band,
                               last = ceil_div(static_cast<std::int64_t>(begin + into.size()), band);
            std::vector<std::byte> bands(static_cast<std::size_t>((last - first) * band));
            const Extent part{std::min(grid.rows, last * kTileRows) - first * kTileRows, grid.cols};
            std::vector<std::byte> rows(static_cast<std::size_t>(part.count()));
            take_grid(container, stored, from, 1, part, first * kTileRows, rows);
            put_grid(rows, to, 1, part, first * kTileRows, bands, {first * band, last * band});
            const std::uint64_t skipped = begin - static_cast<std::uint64_t>(first * band);
            std::copy_n(bands.begin() + static_cast<std::ptrdiff_t>(skipped), into.size(), into.begin());
          }};
}

// The only thing that is wrong with the module is how many scales it has.
bool has_wrong_tiles(const Module& m) {
  return m.scales != nullptr && m.reading.scales.order == GridOrder::kTiles && m.reading.complaints.size() == 1 &&
         m.reading.complaints[0].tensor == m.scales->name && m.reading.complaints[0].code == Errc::kShape;
}

void plan_wrong_tiles(const Checkpoint& model, const Module& m, Repair& repair) {
  const StoredTensor& scales = *m.scales;
  const Spelling& s = *m.reading.spelling;
  const Extent grid = scale_extent(m.reading.format, m.reading.extent);
  repair.findings.push_back({scales.name, m.reading.complaints[0].message});
  if (m.reading.experts > 0 || scales.shape.size() != 2 || dtype_bits(scales.dtype) != 8) {
    repair.doubt = fmt::format("{} has no shape of rows and columns of tiles", scales.name);
    return;
  }
  Extent stored{scales.shape[0], scales.shape[1]};
  if (s.flat_tiles) stored = {stored.rows * 4, stored.cols / 4};
  const Grid from{.order = GridOrder::kTiles, .stored = stored};
  const Grid to{.order = GridOrder::kTiles,
                .stored = {round_up(grid.rows, kTileRows), round_up(grid.cols, s.scale_padding)}};
  if (stored.rows % kTileRows != 0 || stored.cols % kTileCols != 0 || stored.count() != scales.elements() ||
      stored.rows < grid.rows || stored.cols < grid.cols) {
    repair.doubt = fmt::format("{} has {} x {} scales, which are no whole tiles that hold {} x {}", scales.name,
                               stored.rows, stored.cols, grid.rows, grid.cols);
    return;
  }
  if (!is_padded_with_zeros(model.container().read_all(scales), from, grid)) {
    repair.doubt = fmt::format("{} read as {} x {} in tiles has other bytes than zeros outside {} x {}", scales.name,
                               stored.rows, stored.cols, grid.rows, grid.cols);
    return;
  }
  std::vector<std::int64_t> shape{to.stored.rows, to.stored.cols};
  if (s.flat_tiles) shape = {to.stored.rows / 4, to.stored.cols * 4};
  repair.amendment.tensors.emplace(scales.name, amend_tiles(std::move(shape), scales.dtype, from, to, grid));
}

}  // namespace

Repair plan_scale_tile_padding(const Checkpoint& model, std::uint64_t most) {
  Repair repair;
  for (const Module& m : model.modules()) {
    if (!m.is_quantized() || m.scales == nullptr || m.scales->bytes > most) continue;
    if (has_wrong_tiles(m)) {
      plan_wrong_tiles(model, m, repair);
      if (!repair.doubt.empty()) break;
      continue;
    }
    const Grid& tiles = m.reading.scales;
    if (tiles.order != GridOrder::kTiles || !m.reading.complaints.empty() || !m.bank.empty()) continue;
    const Extent grid = scale_extent(m.reading.format, m.reading.extent);
    if (is_padded_with_zeros(model.container().read_all(*m.scales), tiles, grid)) continue;
    repair.findings.push_back({m.scales->name, fmt::format("{} has other bytes than zeros around its {} x {} scales",
                                                           m.scales->name, grid.rows, grid.cols)});
    repair.amendment.tensors.emplace(m.scales->name, amend_tiles(m.scales->shape, m.scales->dtype, tiles, tiles, grid));
  }
  if (!repair.doubt.empty()) repair.amendment = {};
  return repair;
}

}  // namespace tessera::fixes
