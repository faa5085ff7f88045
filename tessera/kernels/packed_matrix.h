// PackedMatrix: a weight [n, k] as the CPU's matrix multiplication reads it. A permutation of the checkpoint's codes
// and scales: no value changes, and unpack() gives them back.
//
// Panels of 16 rows follow each other; a panel is a sequence of steps along k, each of them its codes and then its
// scales, so that a kernel reads one stream of memory. Rows beyond n and columns beyond k hold zeros.
//   codes of a step   4 bits: for every 16 k, 128 bytes; row r of pair p = k / 2 stands in byte
//                        (p / 4) * 64 + (2 r + k % 2) * 2 + (p % 4) / 2, low nibble where p is even: a 16-bit word has
//                        one k of four pairs
//                     8 bits: for every 4 k, 64 bytes; byte (r / 4) * 16 + (k / 2 % 2) * 8 + (r % 4) * 2 + k % 2:
//                        unpacking bytes to words gives pairs
//                     16 bits: for every 2 k, 64 bytes; word 2 r + k % 2
//                     32 bits: for every 2 k, 128 bytes; float (k % 2) * 16 + r
//   scales of a step  for every chain, 16 stored scales, one a row
// A chain is the run of k that share a scale, and 64 where no scale is finer than a row (see gemm.h for what it sums).
#pragma once
#include <cstdint>
#include <string>

#include "tessera/tensor/quantized_tensor.h"

namespace tessera {

struct PackedMatrix {
  static constexpr std::int64_t kPanel = 16;  // rows

  Extent extent{};                     // [n, k]
  Format format{};                     // of the codes; dense formats included
  bool converted = false;              // codes are f32 values: of F16 weights, and of formats whose blocks fit no step
  int code_bits = 0;                   // 4, 8, 16 or 32
  int scale_bytes = 0;                 // of a stored scale: 1, 4; 0: no scale is finer than a row
  std::int64_t chain = 64, step = 64;  // in k; a step holds whole chains
  Tensor panels{};                     // U8 [panel_count(), panel_bytes()]
  Tensor row_factor{};                 // F32 [n]: what multiplies a row's sum; no elements: nothing does
  // What panels and factors do not say of the quantized tensor: its global, sense and segments. No codes, no scales.
  QuantizedTensor facts{};

  std::int64_t panel_count() const { return ceil_div(extent.rows, kPanel); }
  std::int64_t steps() const { return ceil_div(extent.cols, step); }
  std::int64_t code_bytes() const { return kPanel * step * code_bits / 8; }  // of a step
  std::int64_t step_bytes() const { return code_bytes() + kPanel * (step / chain) * scale_bytes; }
  std::int64_t panel_bytes() const { return steps() * step_bytes(); }
  std::size_t bytes() const { return panels.bytes() + row_factor.bytes(); }
};

// What pack() makes of a matrix of this format, without its bytes: for those who ask which kernel will run.
PackedMatrix packed_layout(const Format& format, Extent extent);

// Throws kResource. q: on the CPU, any format; checked (validate). Values that no step can hold in their own format are
// decoded to f32, which is exact; `converted` says so.
PackedMatrix pack(Stream& stream, const QuantizedTensor& q);
// w: [n, k] BF16, F16 or F32 on the CPU. Throws kShape, kUnsupported.
PackedMatrix pack(Stream& stream, const Tensor& w);

// The tensor that was packed, byte for byte (scales that a square block shares are read at its first row).
// Throws kUnsupported where the codes were converted or the matrix is dense.
QuantizedTensor unpack(Stream& stream, const PackedMatrix& w);

// Row n of the matrix as the kernels see it: code values without scales, k floats; and the scale of its chains.
// For the reference, tests and embedding look-ups.
void read_codes(const PackedMatrix& w, std::int64_t row, std::span<float> values);
void read_scales(const PackedMatrix& w, std::int64_t row,
                 std::span<float> scales);  // one a chain; 1 where there is none

// The values of a row as its checkpoint's own reader computes them (law 3): what dequantize() gives of it.
void read_values(const PackedMatrix& w, std::int64_t row, std::span<float> values);

}  // namespace tessera
