// RowProgram: elementwise and row-wise work as a list of steps that a small machine runs row by row, on registers that
// stay in the first-level cache. Every such operation of the engine runs here, alone or fused with others: there is no
// second implementation (docs/design/regions.md).
//
// Numbers: each step is computed in f32 with one IEEE operation a value, or a function of numeric/math.h, and rounded
// to its step's type. A sum over a run of n values adds value i to part i % 16, and the parts in a tree (8, 4, 2, 1
// apart). So a step's bits depend on its operands alone: not on what it is fused with, on the tier, the rows or threads
// (laws 1 and 8). For kRope each of the two products of a value, and their sum, is rounded.
// A NaN is stored as the positive quiet one.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "tessera/kernels/row_step.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

using tessera_lanes::RowBuffer;
using tessera_lanes::RowOp;
using tessera_lanes::RowStep;

struct RowProgram {
  std::vector<RowStep> steps;
  std::int64_t frame = 0;  // floats that the registers take together
};

constexpr std::int64_t register_floats(std::int64_t width) { return ceil_div(width, 16) * 16; }

// Runs the program on rows [0, rows) of the buffers. The caller has checked shapes.
void run_rows(Stream& stream, const RowProgram& program, std::span<const RowBuffer> buffers, std::int64_t rows);

// What tests sweep: all of them give the same bits.
struct RowImpl {
  std::string_view name;
  bool (*here)(const Stream&);
  void (*run)(const RowStep* steps, std::int64_t count, const RowBuffer* buffers, std::int64_t row, float* frame);
};
std::span<const RowImpl> row_impls();

}  // namespace tessera
