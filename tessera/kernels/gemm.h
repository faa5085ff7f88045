// y = x w^T on the CPU, for weights of every format, with one order of summation.
//
// What an element of y is (law 1: a function of its row of x, its row of w and nothing else; the same on every tier):
//   sum = 0
//   for each chain of w's row, ascending:        (packed_matrix.h: the k that share a scale, or 64)
//     a = 0
//     for each pair (k, k + 1) of it, ascending:
//       a = fma(code[k + 1], x[k + 1], a);  a = fma(code[k], x[k], a)
//     sum = fma(a, scale, sum)                   (scale 1 where the chain has none)
//   y = round(sum * row_factor + bias)           (each of the two where there is one; one rounding each)
// in f32, nearest-even, subnormal operands and results being zeros of their sign (a result is subnormal where its
// rounding to 24 bits is under 2^-126), k counted through to the end of the last step with zeros, and a NaN of y the
// positive quiet one: what vdpbf16ps does, so that the same bits come from it, from fused multiply-adds on f32, and
// from the scalar reference. Codes of 8 bits or fewer and bf16 weights are exact in bf16, so that only x's own rounding
// and the f32 sums are inexact. Source: Intel SDM, VDPBF16PS (the order of a pair); docs/design/gemm.md for the choice.
#pragma once
#include <span>
#include <string_view>

#include "tessera/kernels/packed_matrix.h"

namespace tessera {

struct GemmPart {  // columns [column, column + w->extent.rows) of y
  const PackedMatrix* w = nullptr;
  const float* bias = nullptr;  // f32 [w->extent.rows], or null
  std::int64_t column = 0;
};

// Several matrices that multiply one x (q, k and v; gate and up) keep their own formats and scales, and are one job.
struct GemmArgs {
  const Tensor& x;  // [m, k] BF16 or F32
  std::span<const GemmPart> parts;
  Tensor& y;  // [m, n] BF16 or F32; columns outside of the parts stay as they are
};

// Throws kShape, kUnsupported.
void gemm_nt(Stream& stream, const GemmArgs& args);

// One unit of work: m rows of x times panels [begin, end) of a part. Implementations check nothing.
struct GemmTile {
  const void* x = nullptr;
  DType x_type = DType::kBf16;
  std::int64_t m = 0;
  const PackedMatrix* w = nullptr;
  const float* bias = nullptr;
  std::int64_t first_panel = 0, end_panel = 0;
  void* y = nullptr;  // the part's first column of y's first row
  DType y_type = DType::kBf16;
  std::int64_t y_stride = 0;  // elements
};

// What tests sweep and `tessera doctor` prints; most special first, the reference last.
struct GemmImpl {
  std::string_view name;
  bool (*here)(const Stream&);
  bool (*fits)(const GemmTile&);
  bool (*pays)();  // on this processor; where not, a later one is as right and faster
  void (*run)(const GemmTile&);
};
std::span<const GemmImpl> gemm_impls();
const GemmImpl& gemm_impl_for(const Stream& stream, const GemmTile& tile);  // the first that is here, fits and pays

}  // namespace tessera
