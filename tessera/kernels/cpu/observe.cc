#include "tessera/kernels/cpu/tiles.h"

namespace tessera::cpu {
namespace {

// Raises the maxima of block rows [begin, end), tile by tile.
void observe_rows(const tessera_lanes::Kernels& kernels, const Tensor& x, const BlockGrid& grid, Part rows,
                  float* maxima) {
  const Extent extent = x.extent();
  const std::int64_t bytes = dtype_bits(x.dtype()) / 8;
  const std::int64_t first = (grid.first_col + 1) * grid.block.cols - grid.col;
  for (std::int64_t r = rows.begin; r < rows.end; ++r)
    kernels.block_amax(static_cast<int>(x.dtype()),
                       {x.data() + r * extent.cols * bytes, extent.cols, grid.block.cols, first},
                       maxima + grid.block_row(r) * grid.blocks.cols);
}

// The same of one row of blocks by runs, some of them [begin, end), into maxima of its own.
void observe_runs(const tessera_lanes::Kernels& kernels, const Tensor& x, const Runs& runs, Part part, float* maxima) {
  const Extent extent = x.extent();
  const std::int64_t bytes = dtype_bits(x.dtype()) / 8;
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const Run run = runs[i];
    const std::int64_t n = run.cols.end - run.cols.begin;
    kernels.block_amax(static_cast<int>(x.dtype()),
                       {x.data() + (run.row * extent.cols + run.cols.begin) * bytes, n, n, n}, maxima + run.block);
  }
}

}  // namespace

void observe_blocks(const tessera_lanes::Kernels& kernels, ThreadPool& pool, const Tensor& x, const BlockGrid& grid,
                    std::span<float> maxima) {
  std::fill(maxima.begin(), maxima.end(), 0.f);
  const Extent extent = x.extent();
  if (grid.blocks.rows >= pool.size()) {
    parallel_for(pool, grid.blocks.rows, [&](std::int64_t begin, std::int64_t end, int) {
      const auto row = [&](std::int64_t block) {
        return std::clamp<std::int64_t>((grid.first_row + block) * grid.block.rows - grid.row, 0, extent.rows);
      };
      observe_rows(kernels, x, grid, {row(begin), row(end)}, maxima.data());
    });
    return;
  }
  // Few rows of blocks: each worker raises maxima of its own, which are then brought together.
  const View view{extent, grid, extent.cols};
  const Runs runs(view);
  std::vector<std::vector<float>> parts(static_cast<std::size_t>(pool.size()));
  parallel_for(pool, runs.count(), [&](std::int64_t begin, std::int64_t end, int worker) {
    std::vector<float>& own = parts[static_cast<std::size_t>(worker)];
    own.assign(maxima.size(), 0.f);
    observe_runs(kernels, x, runs, {begin, end}, own.data());
  });
  for (const std::vector<float>& part : parts)
    for (std::size_t b = 0; b < part.size(); ++b) maxima[b] = larger_maximum(maxima[b], part[b]);
}

}  // namespace tessera::cpu
