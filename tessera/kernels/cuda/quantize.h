// quantize and dequantize on NVIDIA GPUs. Same bits as the reference (law 11). In a build without CUDA no_cuda.cc
// refuses.
#pragma once
#include "tessera/kernels/quantize_job.h"

namespace tessera::cuda {

std::int64_t quantize(Stream&, const QuantizeJob& job);
float amax(Stream&, const Tensor& x);
void block_amax(Stream&, const Tensor& x, const BlockGrid& grid, std::span<float> maxima);
void dequantize(Stream&, const QuantizedTensor& q, Tensor& into);

}  // namespace tessera::cuda
