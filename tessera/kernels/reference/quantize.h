// The plain reference of quantize and dequantize: sequential, one element at a time, on the CPU.
#pragma once
#include "tessera/kernels/quantize_job.h"

namespace tessera::reference {

std::int64_t quantize(Stream&, const QuantizeJob& job);
float amax(Stream&, const Tensor& x);
void block_amax(Stream&, const Tensor& x, const BlockGrid& grid, std::span<float> maxima);
void dequantize(Stream&, const QuantizedTensor& q, Tensor& into);

// The code of one element whose block has this operand. `random`: used only where `how` is stochastic.
std::uint32_t code_of(Element element, const Encode& how, DType source, float x, float operand, std::uint32_t random);
// The value of one code under its block's scale and the global (law 3).
float value_of(const QuantizedTensor& q, std::uint32_t code, float scale, float global);

}  // namespace tessera::reference
