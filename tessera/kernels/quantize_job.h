// A QuantizeJob: everything that an implementation of quantize() needs, checked. Implementations check nothing.
#pragma once
#include <span>
#include <string_view>

#include "tessera/kernels/quantize.h"

namespace tessera {

// The grid of blocks that a piece touches. Blocks are counted from the whole's corner, so that pieces agree on them.
struct BlockGrid {
  Block block;                                // elements, with the format's zeros filled in
  std::int64_t row = 0, col = 0;              // of the piece in the whole
  std::int64_t first_row = 0, first_col = 0;  // the first block touched
  Extent blocks{};                            // how many are touched

  std::int64_t block_row(std::int64_t r) const { return (row + r) / block.rows - first_row; }
  std::int64_t block_col(std::int64_t c) const { return (col + c) / block.cols - first_col; }
};
BlockGrid block_grid(const Format& format, Extent piece, const QuantizeContext& where);

struct QuantizeJob {
  const Tensor& x;
  Extent extent;  // of x
  Extent whole;
  const Writer& writer;
  Encode encode;
  BlockGrid grid;
  float tensor_amax;              // of the whole; 0 where the writer does not ask for it
  float global;                   // stored bits
  std::span<const float> agreed;  // block maxima of the grid; empty: observe them
  RandomKey key;
  bool scales_given;     // out.scales and out.global hold what to encode with; only codes are wanted
  QuantizedTensor& out;  // allocated
};

// `run` returns the first block (row-major in the grid) whose maximum is not finite, or -1.
struct QuantizeImpl {
  std::string_view name;
  bool (*fits)(const Stream&, const QuantizeJob&);
  std::int64_t (*run)(Stream&, const QuantizeJob&);
  float (*amax)(Stream&, const Tensor& x);
  void (*block_amax)(Stream&, const Tensor& x, const BlockGrid&, std::span<float> maxima);
  void (*dequantize)(Stream&, const QuantizedTensor&, Tensor& into);
  bool (*here)(const Stream&);
};

}  // namespace tessera
