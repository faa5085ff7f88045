// TESSERA_CUDA_CHECK(call): throws kResource with the call and the runtime's own words unless it succeeds. For the .cc
// files of builds with CUDA; a .cu holds kernels and launches only, and its caller checks cudaGetLastError().
#pragma once
#include <cuda_runtime_api.h>

namespace tessera::cuda {

void check(cudaError_t status, const char* call);

// Makes a device current, and the previous one again at the end of the scope. Throws kResource.
class OnDevice final {
 public:
  explicit OnDevice(int index);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int previous_ = 0;
};

}  // namespace tessera::cuda

#define TESSERA_CUDA_CHECK(call) ::tessera::cuda::check((call), #call)
