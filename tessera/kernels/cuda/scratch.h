// Scratch: device memory for the kernels of one call. It is taken and given back in the stream's own order, so nothing
// waits. For .cc files of builds with CUDA.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

#include "tessera/tensor/cuda_check.h"

namespace tessera::cuda {

class Scratch final {
 public:
  // `bytes` may be 0. Throws kResource.
  Scratch(std::size_t bytes, void* stream) : stream_(static_cast<cudaStream_t>(stream)) {
    if (bytes != 0) TESSERA_CUDA_CHECK(cudaMallocAsync(&data_, bytes, stream_));
  }
  ~Scratch() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void fill(int byte, std::size_t bytes) { TESSERA_CUDA_CHECK(cudaMemsetAsync(data_, byte, bytes, stream_)); }
  // Host memory that is not pinned is read before this returns.
  void fill_from(const void* host, std::size_t bytes) {
    TESSERA_CUDA_CHECK(cudaMemcpyAsync(data_, host, bytes, cudaMemcpyHostToDevice, stream_));
  }
  // Waits for the stream.
  void read(void* host, std::size_t bytes) const {
    TESSERA_CUDA_CHECK(cudaMemcpyAsync(host, data_, bytes, cudaMemcpyDeviceToHost, stream_));
    TESSERA_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  cudaStream_t stream_;
  void* data_ = nullptr;
};

}  // namespace tessera::cuda
