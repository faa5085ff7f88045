// quantize and dequantize on NVIDIA GPUs. Same bits as the reference (law 11). In a build without CUDA no_cuda.cc
// refuses. Any of them throws kResource with the runtime's words when the device fails, and quantize() kUnsupported for
// a writer that is not of the registry.
#pragma once
#include <string_view>

#include "tessera/kernels/quantize_job.h"

namespace tessera::cuda {

// Waits for the device only where the writer refuses numbers that are not finite; elsewhere -1 is returned unasked.
std::int64_t quantize(Stream&, const QuantizeJob& job);
float amax(Stream&, const Tensor& x);
void block_amax(Stream&, const Tensor& x, const BlockGrid& grid, std::span<float> maxima);
void dequantize(Stream&, const QuantizedTensor& q, Tensor& into);

// Queues what quantize() does. `not_finite`: an index in device memory, of all ones before; it becomes the first block
// whose maximum is not finite, if there is one.
void queue_quantize(Stream&, const QuantizeJob& job, unsigned long long* not_finite);

// The kernels that quantize() chooses among, most special first; the last takes everything. `untested_here`: compiled
// for chips that no machine of the project has.
struct QuantizeVariant {
  std::string_view name, takes;
  bool untested_here;
};
std::span<const QuantizeVariant> quantize_variants();  // empty in a build without CUDA
// The name of the variant that a job would run.
std::string_view chosen_variant(const Stream&, const QuantizeJob& job);

}  // namespace tessera::cuda
