// The steps of a row program (row_program.h), of builtin types only: the CPU tiers share them with the rest of the
// program (cpu/lane_kernels.h says why).
#pragma once
#include <cstdint>

namespace tessera_lanes {

enum class RowOp : std::uint8_t {
  kLoad,        // d = buffer[row, column ...]; a row of `width` values, widened
  kLoadVector,  // d = buffer[column ...]: the same for every row
  kStore,       // buffer[row, column ...] = a, in the buffer's type
  kAdd,         // d = a + b
  kSubtract,    // d = a - b
  kMultiply,    // d = a * b; b of `group` values is repeated over a's width
  kSilu,
  kSigmoid,
  kGelu,
  kGeluTanh,
  kTanh,
  kScale,       // d = a * number
  kMeanSquare,  // d = the mean of a^2 over each run of `group`: width / group values
  kNormalize,   // d = a * rsqrt(b + number), b one value for each run of `group`
  kRope,  // d = a with the first `rotary` of every `group` rotated by the angles in b: rotary / 2 cosines, then sines
};

// Registers are rows of floats in one frame; a, b and d are their offsets in it, multiples of 16. Every result is
// rounded to `round` (a tessera::DType: F32, BF16 or F16) before it is kept, as an engine that stores each value does.
struct RowStep {
  RowOp op = RowOp::kLoad;
  int round = 0;
  int buffer = 0;
  std::int64_t width = 0;  // of d; of a for kStore and kMeanSquare
  std::int64_t group = 0, rotary = 0, column = 0;
  std::int64_t a = 0, b = 0, d = 0;
  float number = 0;
};

struct RowBuffer {
  void* data = nullptr;
  std::int64_t stride = 0;  // elements from one row to the next
  int type = 0;             // a tessera::DType: F32, BF16 or F16
};

}  // namespace tessera_lanes
