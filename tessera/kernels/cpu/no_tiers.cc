// The CPU tiers on a processor that has none of them: the reference.
#include "tessera/kernels/cpu/attention.h"
#include "tessera/kernels/cpu/gemm.h"
#include "tessera/kernels/cpu/quantize.h"
#include "tessera/kernels/cpu/row_program.h"
#include "tessera/kernels/reference/attention.h"
#include "tessera/kernels/reference/gemm.h"
#include "tessera/kernels/reference/quantize.h"
#include "tessera/kernels/reference/row_program.h"

namespace tessera::cpu {

bool fits_lanes(const Stream&, const QuantizeJob&) { return false; }

std::int64_t quantize_avx2(Stream& stream, const QuantizeJob& job) { return reference::quantize(stream, job); }
float amax_avx2(Stream& stream, const Tensor& x) { return reference::amax(stream, x); }
void block_amax_avx2(Stream& stream, const Tensor& x, const BlockGrid& grid, std::span<float> maxima) {
  reference::block_amax(stream, x, grid, maxima);
}
void dequantize_avx2(Stream& stream, const QuantizedTensor& q, Tensor& into) { reference::dequantize(stream, q, into); }

std::int64_t quantize_avx512(Stream& stream, const QuantizeJob& job) { return reference::quantize(stream, job); }
float amax_avx512(Stream& stream, const Tensor& x) { return reference::amax(stream, x); }
void block_amax_avx512(Stream& stream, const Tensor& x, const BlockGrid& grid, std::span<float> maxima) {
  reference::block_amax(stream, x, grid, maxima);
}
void dequantize_avx512(Stream& stream, const QuantizedTensor& q, Tensor& into) {
  reference::dequantize(stream, q, into);
}

void run_row_avx2(const tessera_lanes::RowStep* steps, std::int64_t count, const tessera_lanes::RowBuffer* buffers,
                  std::int64_t row, float* frame) {
  reference::run_row(steps, count, buffers, row, frame);
}
void run_row_avx512(const tessera_lanes::RowStep* steps, std::int64_t count, const tessera_lanes::RowBuffer* buffers,
                    std::int64_t row, float* frame) {
  reference::run_row(steps, count, buffers, row, frame);
}

void attend_avx2(const tessera_lanes::AttentionBlock& block) { reference::attend(block); }
void attend_avx512(const tessera_lanes::AttentionBlock& block) { reference::attend(block); }

bool fits_panels(const GemmTile&) { return false; }
bool fits_dots(const GemmTile&) { return false; }
void gemm_avx2(const GemmTile& tile) { reference::gemm(tile); }
void gemm_avx512(const GemmTile& tile) { reference::gemm(tile); }
void gemm_avx512_bf16(const GemmTile& tile) { reference::gemm(tile); }

}  // namespace tessera::cpu
