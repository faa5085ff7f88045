// What the tensor floor needs of CUDA. cuda_runtime.cc implements it in builds with CUDA, no_cuda.cc in the others: a
// missing part is a file, not an #ifdef. Every function throws kResource with the runtime's own words when a call
// fails, and in a build without CUDA kUnsupported.
#pragma once
#include <cstddef>
#include <string>

namespace tessera::cuda {

int device_count();          // 0 without a driver, a device or CUDA in the build; never throws
std::string availability();  // a sentence for `tessera doctor` and for errors: what is here or why nothing is
void* create_stream(int device);
void destroy_stream(void* stream) noexcept;
void synchronize(void* stream);
void* allocate(std::size_t bytes, int device);
void release(void* data, int device) noexcept;
// Any direction, by address; ordered on `stream`; a copy that touches host memory is complete on return.
void copy(void* to, const void* from, std::size_t bytes, void* stream);

}  // namespace tessera::cuda
