// How a matrix is cut for the CPU kernels: tiles of whole blocks that stay in the first caches, or, where blocks are
// too large for that, runs within a block. Cuts are functions of the shape alone.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "tessera/kernels/cpu/lane_kernels.h"
#include "tessera/kernels/quantize_job.h"

namespace tessera::cpu {

inline constexpr std::int64_t kTileBytes = 32 << 10;      // of x, where blocks are one row: about an L1
inline constexpr std::int64_t kTallTileBytes = 64 << 10;  // where blocks are several rows
inline constexpr std::int64_t kTileBlocks = 2048;         // at most
inline constexpr std::int64_t kLargeBlock = 1 << 17;      // elements
inline constexpr std::int64_t kRunElements = 1 << 14;
inline constexpr std::int64_t kSearchedBlock = 32;  // columns

// Whether the lanes know this format; the whole's extent fills in its blocks.
inline bool has_lanes(const Format& format, Extent whole) {
  const Element& e = format.element;
  if (format.is_dense() || e.bits() > 8 || !e.is_signed || e.mantissa_bits == 0) return false;
  const std::int64_t cols = block_in(format, whole).cols;
  return cols % codes_of_whole_bytes(e) == 0 || cols >= whole.cols;
}

// A piece as the kernels see it: rows that end on blocks follow each other without a seam and count as one.
struct View {
  Extent extent;
  BlockGrid grid;
  std::int64_t whole_cols;
};
inline View view_of(const QuantizeJob& job) {
  View view{job.extent, job.grid, job.whole.cols};
  const BlockGrid& g = job.grid;
  const bool seamless = g.block.rows == 1 && g.col % g.block.cols == 0 && job.extent.cols % g.block.cols == 0 &&
                        job.extent.cols * job.out.format.element.bits() % 8 == 0 &&
                        (job.extent.cols == job.whole.cols || !job.encode.stochastic);
  if (!seamless) return view;
  view.extent = {1, job.extent.count()};
  view.grid.blocks = {1, g.blocks.count()};
  return view;
}

struct Tile {
  std::int64_t block_row = 0;
  Part blocks{};  // columns of the grid
  Part rows{}, cols{};
  std::int64_t first = 0;  // columns of the first block that the piece has
};

class Tiles final {
 public:
  Tiles(const View& view, std::int64_t element_bytes) : view_(view) {
    const Block b = view.grid.block;
    const std::int64_t tile = b.rows == 1 ? kTileBytes : kTallTileBytes;
    wide_ = std::clamp<std::int64_t>(tile / (b.rows * b.cols * element_bytes), 1, kTileBlocks);
    per_row_ = ceil_div(view.grid.blocks.cols, wide_);
  }

  std::int64_t count() const { return view_.grid.blocks.rows * per_row_; }
  std::int64_t blocks_per_tile() const { return wide_; }
  Tile operator[](std::int64_t index) const {
    const BlockGrid& g = view_.grid;
    Tile t{.block_row = index / per_row_};
    t.blocks.begin = index % per_row_ * wide_;
    t.blocks.end = std::min(t.blocks.begin + wide_, g.blocks.cols);
    t.rows = cut(g.first_row + t.block_row, 1, g.block.rows, g.row, view_.extent.rows);
    t.cols = cut(g.first_col + t.blocks.begin, t.blocks.end - t.blocks.begin, g.block.cols, g.col, view_.extent.cols);
    t.first = (g.first_col + t.blocks.begin + 1) * g.block.cols - g.col - t.cols.begin;
    return t;
  }

 private:
  static Part cut(std::int64_t block, std::int64_t count, std::int64_t size, std::int64_t origin, std::int64_t length) {
    return {std::max<std::int64_t>(0, block * size - origin), std::min(length, (block + count) * size - origin)};
  }
  const View& view_;
  std::int64_t wide_ = 1, per_row_ = 1;
};

struct Run {
  std::int64_t row;
  Part cols;
  std::int64_t block;  // its index in the grid
};

// Runs of at most kRunElements, each in one row of one block.
class Runs final {
 public:
  explicit Runs(const View& view) : view_(view) {
    const BlockGrid& g = view.grid;
    for (std::int64_t c = 0; c < view.extent.cols;) {
      const std::int64_t b = g.block_col(c), end = (g.first_col + b + 1) * g.block.cols - g.col;
      const std::int64_t next = std::min({c + kRunElements, end, view.extent.cols});
      line_.push_back({.row = 0, .cols = {c, next}, .block = b});
      c = next;
    }
  }

  std::int64_t count() const { return view_.extent.rows * static_cast<std::int64_t>(line_.size()); }
  Run operator[](std::int64_t index) const {
    const auto per_row = static_cast<std::int64_t>(line_.size());
    Run run = line_[static_cast<std::size_t>(index % per_row)];
    run.row = index / per_row;
    run.block += view_.grid.block_row(run.row) * view_.grid.blocks.cols;
    return run;
  }

 private:
  const View& view_;
  std::vector<Run> line_;
};

// Maxima of the blocks that x touches, from nothing.
void observe_blocks(const tessera_lanes::Kernels& kernels, ThreadPool& pool, const Tensor& x, const BlockGrid& grid,
                    std::span<float> maxima);

}  // namespace tessera::cpu
