// quantize and dequantize on the CPU, a translation unit per instruction set (tier_avx2.cc, tier_avx512.cc), all made
// from quantize_lanes.h. Threaded over rows of blocks with a static partition; no result depends on the number of
// threads.
#pragma once
#include "tessera/kernels/quantize_job.h"

namespace tessera::cpu {

bool fits_lanes(const Stream&, const QuantizeJob& job);

std::int64_t quantize_avx2(Stream&, const QuantizeJob& job);
float amax_avx2(Stream&, const Tensor& x);
void block_amax_avx2(Stream&, const Tensor& x, const BlockGrid& grid, std::span<float> maxima);
void dequantize_avx2(Stream&, const QuantizedTensor& q, Tensor& into);

std::int64_t quantize_avx512(Stream&, const QuantizeJob& job);
float amax_avx512(Stream&, const Tensor& x);
void block_amax_avx512(Stream&, const Tensor& x, const BlockGrid& grid, std::span<float> maxima);
void dequantize_avx512(Stream&, const QuantizedTensor& q, Tensor& into);

}  // namespace tessera::cpu
