#include "tessera/kernels/cpu/quantize.h"

#include <algorithm>
#include <atomic>

#include "tessera/base/error.h"
#include "tessera/kernels/cpu/lane_kernels.h"
#include "tessera/kernels/cpu/tiles.h"
#include "tessera/kernels/reference/quantize.h"

namespace tessera::cpu {
namespace {

using tessera_lanes::Blocks;
using tessera_lanes::DecodeFacts;
using tessera_lanes::DecodeRow;
using tessera_lanes::EncodeFacts;
using tessera_lanes::Kernels;
using tessera_lanes::Row;

constexpr std::int64_t kStreamedBytes = std::int64_t{4} << 20;  // results from here on would only push others out

int writer_index(const Writer& writer) {
  const auto writers = all_writers();
  return static_cast<int>(std::find(writers.begin(), writers.end(), &writer) - writers.begin());
}

EncodeFacts facts_of(const QuantizeJob& job) {
  return {.format = &job.out.format,
          .encode = &job.encode,
          .key = &job.key,
          .source = static_cast<int>(job.x.dtype()),
          .sense = static_cast<int>(job.out.sense),
          .writer = writer_index(job.writer),
          .global = job.global,
          .tensor_amax = job.tensor_amax};
}

// What one worker needs for the blocks of a tile.
struct Scratch {
  std::vector<float> own, agreed, operands, reciprocals;
  std::vector<std::uint8_t> care;
  explicit Scratch(std::int64_t blocks) {
    const auto size = static_cast<std::size_t>(blocks + tessera_lanes::kPadding);
    for (std::vector<float>* v : {&own, &agreed, &operands, &reciprocals}) v->resize(size);
    care.resize(size);
  }
};

class Encoding final {
 public:
  Encoding(const Kernels& kernels, const QuantizeJob& job)
      : kernels_(kernels),
        job_(job),
        facts_(facts_of(job)),
        view_(view_of(job)),
        x_(reinterpret_cast<const std::uint8_t*>(job.x.data())),
        bytes_(dtype_bits(job.x.dtype()) / 8),
        row_bytes_(row_bytes(job.out.format, view_.extent.cols)),
        streams_(static_cast<std::int64_t>(job.out.codes.bytes()) >= kStreamedBytes) {}

  std::int64_t run(ThreadPool& pool) {
    if (view_.grid.block.rows * view_.grid.block.cols > kLargeBlock)
      by_blocks(pool);
    else
      by_tiles(pool);
    return not_finite_.load() == kNone ? -1 : not_finite_.load();
  }

 private:
  static constexpr std::int64_t kNone = INT64_MAX;

  const std::uint8_t* source(std::int64_t r, std::int64_t c) const { return x_ + (r * view_.extent.cols + c) * bytes_; }
  tessera_lanes::Place place(std::int64_t r, std::int64_t c, std::int64_t ahead) const {
    auto* codes = job_.out.codes.as<std::uint8_t>() + r * row_bytes_ + c * job_.out.format.element.bits() / 8;
    const std::int64_t logical = (view_.grid.row + r) * view_.whole_cols + view_.grid.col + c;
    return {codes, static_cast<std::uint64_t>(logical), ahead, streams_};
  }
  Row row_of(const Tile& tile, std::int64_t r) const {
    return {source(r, tile.cols.begin), tile.cols.end - tile.cols.begin, view_.grid.block.cols, tile.first};
  }

  // Scales and operands of `count` blocks from `index` on, whose maxima are `maxima`.
  void resolve(const Tile* tile, std::int64_t index, Blocks& blocks) {
    blocks.scales = reinterpret_cast<std::uint8_t*>(job_.out.scales.data()) + index * scale_bytes(job_.out.format);
    if (job_.scales_given) {
      kernels_.resolve_given(facts_, blocks);
      return;
    }
    for (std::int64_t b = 0; b < blocks.count; ++b)
      if (!is_finite(blocks.maxima[b])) {
        std::int64_t known = not_finite_.load();
        while (index + b < known && !not_finite_.compare_exchange_weak(known, index + b)) {
        }
        break;
      }
    if (job_.writer.candidates > 1 && tile != nullptr)
      kernels_.search(facts_, row_of(*tile, tile->rows.begin), blocks);
    else
      kernels_.resolve(facts_, blocks);
  }

  void encode_tile(const Tile& tile, Scratch& scratch) {
    const std::int64_t count = tile.blocks.end - tile.blocks.begin;
    const std::int64_t index = tile.block_row * view_.grid.blocks.cols + tile.blocks.begin;
    std::fill_n(scratch.own.begin(), count + tessera_lanes::kPadding, 0.f);
    for (std::int64_t r = tile.rows.begin; r < tile.rows.end; ++r)
      kernels_.block_amax(facts_.source, row_of(tile, r), scratch.own.data());
    const float* maxima = scratch.own.data();
    if (!job_.agreed.empty()) {
      std::copy_n(job_.agreed.data() + index, count, scratch.agreed.data());
      maxima = scratch.agreed.data();
    }
    Blocks blocks{.count = count,
                  .maxima = maxima,
                  .own = scratch.own.data(),
                  .scales = nullptr,
                  .operands = scratch.operands.data(),
                  .reciprocals = scratch.reciprocals.data(),
                  .care = scratch.care.data()};
    resolve(&tile, index, blocks);
    kernels_.prepare(facts_, blocks);
    const std::int64_t ahead = (tile.cols.end - tile.cols.begin) * bytes_;  // the next tile stands beside this one
    for (std::int64_t r = tile.rows.begin; r < tile.rows.end; ++r)
      kernels_.encode(facts_, row_of(tile, r), blocks, place(r, tile.cols.begin, ahead));
  }

  void by_tiles(ThreadPool& pool) {
    const Tiles tiles(view_, bytes_);
    parallel_for(pool, tiles.count(), [&](std::int64_t begin, std::int64_t end, int) {
      Scratch scratch(tiles.blocks_per_tile());
      for (std::int64_t t = begin; t < end; ++t) encode_tile(tiles[t], scratch);
      kernels_.fence();
    });
  }

  // Blocks too large for a tile: all maxima, then all scales, then codes by runs within a block.
  void by_blocks(ThreadPool& pool) {
    const auto count = static_cast<std::size_t>(view_.grid.blocks.count());
    Scratch all(view_.grid.blocks.count());
    if (!job_.scales_given) {
      if (job_.agreed.empty())
        observe_blocks(kernels_, pool, job_.x, job_.grid, std::span(all.own).first(count));
      else
        std::copy(job_.agreed.begin(), job_.agreed.end(), all.own.begin());
    }
    Blocks resolved{.count = view_.grid.blocks.count(),
                    .maxima = all.own.data(),
                    .own = all.own.data(),
                    .scales = nullptr,
                    .operands = all.operands.data(),
                    .reciprocals = all.reciprocals.data(),
                    .care = all.care.data()};
    resolve(nullptr, 0, resolved);
    const Runs runs(view_);
    parallel_for(pool, runs.count(), [&](std::int64_t begin, std::int64_t end, int) {
      Scratch scratch(1);
      for (std::int64_t i = begin; i < end; ++i) encode_run(runs[i], all.operands, scratch);
      kernels_.fence();
    });
  }

  void encode_run(const Run& run, const std::vector<float>& operands, Scratch& scratch) {
    const Row row{source(run.row, run.cols.begin), run.cols.end - run.cols.begin, run.cols.end - run.cols.begin,
                  run.cols.end - run.cols.begin};
    scratch.own[0] = std::bit_cast<float>(kernels_.amax(facts_.source, row.x, row.count));
    scratch.operands[0] = operands[static_cast<std::size_t>(run.block)];
    Blocks blocks{.count = 1,
                  .maxima = scratch.own.data(),
                  .own = scratch.own.data(),
                  .scales = nullptr,
                  .operands = scratch.operands.data(),
                  .reciprocals = scratch.reciprocals.data(),
                  .care = scratch.care.data()};
    kernels_.prepare(facts_, blocks);
    kernels_.encode(facts_, row, blocks, place(run.row, run.cols.begin, row.count * bytes_));
  }

  const Kernels& kernels_;
  const QuantizeJob& job_;
  const EncodeFacts facts_;
  const View view_;
  const std::uint8_t* x_;
  const std::int64_t bytes_, row_bytes_;
  const bool streams_;
  std::atomic<std::int64_t> not_finite_{kNone};
};

float amax(const Kernels& kernels, Stream& stream, const Tensor& x) {
  constexpr std::int64_t kRun = 1 << 16;
  const std::int64_t bytes = dtype_bits(x.dtype()) / 8, count = x.count();
  std::vector<std::uint32_t> largest(static_cast<std::size_t>(stream.pool().size()), 0);
  parallel_for(stream.pool(), ceil_div(count, kRun), [&](std::int64_t begin, std::int64_t end, int worker) {
    const std::int64_t last = std::min(count, end * kRun);
    largest[static_cast<std::size_t>(worker)] =
        kernels.amax(static_cast<int>(x.dtype()), x.data() + begin * kRun * bytes, last - begin * kRun);
  });
  return std::bit_cast<float>(*std::max_element(largest.begin(), largest.end()));
}

// Rows [begin, end) of q, which share one global.
void decode_segment(const Kernels& kernels, Stream& stream, const QuantizedTensor& q, Tensor& into, Part rows,
                    float global) {
  const Block block = block_in(q.format, q.extent);
  const std::int64_t bits = q.format.element.bits(), size = dtype_bits(into.dtype()) / 8;
  const std::int64_t scale_cols = scale_extent(q.format, q.extent).cols;
  // Rows that end on blocks follow each other without a seam.
  const bool seamless = block.rows == 1 && q.extent.cols % block.cols == 0 && q.extent.cols * bits % 8 == 0;
  const std::int64_t lines = seamless ? 1 : rows.end - rows.begin;
  const std::int64_t cols = seamless ? (rows.end - rows.begin) * q.extent.cols : q.extent.cols;
  const std::int64_t span = block.cols <= kRunElements ? kRunElements / block.cols * block.cols : kRunElements;
  const DecodeFacts facts{.format = &q.format,
                          .sense = static_cast<int>(q.sense),
                          .into = static_cast<int>(into.dtype()),
                          .global = global,
                          .reads_minus_zero = q.reads_minus_zero,
                          .streams = static_cast<std::int64_t>(into.bytes()) >= kStreamedBytes};
  const std::int64_t pieces_of_block = ceil_div(block.cols, span), block_pieces = ceil_div(cols, block.cols);
  const std::int64_t per_line = block.cols <= span ? ceil_div(cols, span) : block_pieces * pieces_of_block;
  parallel_for(stream.pool(), lines * per_line, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t r = rows.begin + i / per_line, piece = i % per_line;
      std::int64_t c = piece * span, n = std::min(span, cols - c), first = c / block.cols, width = block.cols;
      if (block.cols > span) {
        first = piece / pieces_of_block;
        const std::int64_t within = piece % pieces_of_block * span;
        c = first * block.cols + within;
        n = std::min({span, block.cols - within, cols - c});
        width = span;
      }
      if (n <= 0) continue;
      const std::int64_t scale = r / block.rows * scale_cols + first;
      kernels.decode(
          facts, DecodeRow{.codes = q.codes.as<std::uint8_t>() + r * row_bytes(q.format, q.extent.cols) + c * bits / 8,
                           .scales = q.scales.as<std::uint8_t>() + scale * scale_bytes(q.format),
                           .count = n,
                           .block = width,
                           .out = into.as<std::uint8_t>() + (r * q.extent.cols + c) * size});
    }
    kernels.fence();
  });
}

void dequantize(const Kernels& kernels, Stream& stream, const QuantizedTensor& q, Tensor& into) {
  if (!has_lanes(q.format, q.extent)) {
    reference::dequantize(stream, q, into);
    return;
  }
  std::int64_t begin = 0;
  const std::size_t segments = q.segment_ends.empty() ? 1 : q.segment_ends.size();
  for (std::size_t s = 0; s < segments; ++s) {
    const std::int64_t end = q.segment_ends.empty() ? q.extent.rows : q.segment_ends[s];
    const float global = q.format.has_global ? q.global.as<float>()[s] : 1.f;
    if (begin < end) decode_segment(kernels, stream, q, into, {begin, end}, global);
    begin = end;
  }
}

}  // namespace

bool fits_lanes(const Stream&, const QuantizeJob& job) {
  if (!has_lanes(job.out.format, job.whole)) return false;
  return job.writer.candidates == 1 || (job.grid.block.rows == 1 && job.grid.block.cols <= kSearchedBlock);
}

std::int64_t quantize_avx2(Stream& stream, const QuantizeJob& job) {
  return Encoding(tessera_lanes::kAvx2, job).run(stream.pool());
}
float amax_avx2(Stream& stream, const Tensor& x) { return amax(tessera_lanes::kAvx2, stream, x); }
void block_amax_avx2(Stream& stream, const Tensor& x, const BlockGrid& grid, std::span<float> maxima) {
  observe_blocks(tessera_lanes::kAvx2, stream.pool(), x, grid, maxima);
}
void dequantize_avx2(Stream& stream, const QuantizedTensor& q, Tensor& into) {
  dequantize(tessera_lanes::kAvx2, stream, q, into);
}

std::int64_t quantize_avx512(Stream& stream, const QuantizeJob& job) {
  return Encoding(tessera_lanes::kAvx512, job).run(stream.pool());
}
float amax_avx512(Stream& stream, const Tensor& x) { return amax(tessera_lanes::kAvx512, stream, x); }
void block_amax_avx512(Stream& stream, const Tensor& x, const BlockGrid& grid, std::span<float> maxima) {
  observe_blocks(tessera_lanes::kAvx512, stream.pool(), x, grid, maxima);
}
void dequantize_avx512(Stream& stream, const QuantizedTensor& q, Tensor& into) {
  dequantize(tessera_lanes::kAvx512, stream, q, into);
}

}  // namespace tessera::cpu
