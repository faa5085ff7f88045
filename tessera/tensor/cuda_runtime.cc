#include "tessera/tensor/cuda_runtime.h"

#include <vector>

#include "tessera/base/error.h"
#include "tessera/tensor/cuda_check.h"

namespace tessera::cuda {
namespace {

// Memory that kernels' workspaces leave in a stream's pool for the next ones.
constexpr std::uint64_t kKeptWorkspace = std::uint64_t{256} << 20;

// The places of bytes that cudaMemcpyAsync may still be reading or writing when it returns, or not.
bool is_host(const void* data) {
  cudaPointerAttributes facts{};
  TESSERA_CUDA_CHECK(cudaPointerGetAttributes(&facts, data));
  return facts.type == cudaMemoryTypeUnregistered || facts.type == cudaMemoryTypeHost;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the next call reports its own error, unless the device is lost
  fail(Errc::kResource, "{}: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status));
}

OnDevice::OnDevice(int index) {
  TESSERA_CUDA_CHECK(cudaGetDevice(&previous_));
  if (index != previous_) TESSERA_CUDA_CHECK(cudaSetDevice(index));
}
OnDevice::~OnDevice() { cudaSetDevice(previous_); }

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

std::string availability() {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (driver == 0) return fmt::format("no NVIDIA driver is installed (built with CUDA {})", version_text(runtime));
  if (status != cudaSuccess) return fmt::format("CUDA does not start: {}", cudaGetErrorString(status));
  std::string text;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp facts{};
    if (cudaGetDeviceProperties(&facts, i) != cudaSuccess) continue;
    text += fmt::format("{}cuda:{} {} (sm_{}{}, {} MiB)", i > 0 ? ", " : "", i, facts.name, facts.major, facts.minor,
                        facts.totalGlobalMem >> 20);
  }
  return fmt::format("{}; driver for CUDA {}, built with {}", text.empty() ? "no CUDA device" : text,
                     version_text(driver), version_text(runtime));
}

// A stream that waits for the null stream and is waited for by it: copies of a CPU stream, which have no stream of
// their own, see what was queued before them.
void* create_stream(int device) {
  const int count = device_count();
  require(device >= 0 && device < count, Errc::kUnsupported, "cuda:{} is not here: {}", device, availability());
  const OnDevice on(device);
  cudaStream_t stream = nullptr;
  TESSERA_CUDA_CHECK(cudaStreamCreate(&stream));
  cudaMemPool_t pool = nullptr;
  std::uint64_t kept = kKeptWorkspace;
  TESSERA_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
  TESSERA_CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
  return stream;
}

void destroy_stream(void* stream) noexcept { cudaStreamDestroy(static_cast<cudaStream_t>(stream)); }

void synchronize(void* stream) { TESSERA_CUDA_CHECK(cudaStreamSynchronize(static_cast<cudaStream_t>(stream))); }

void* allocate(std::size_t bytes, int device) {
  const OnDevice on(device);
  void* data = nullptr;
  if (const cudaError_t status = cudaMalloc(&data, bytes); status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    TESSERA_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    fail(Errc::kResource, "out of memory on cuda:{}: {} bytes wanted, {} of {} free", device, bytes, free, total);
  } else {
    check(status, "cudaMalloc");
  }
  return data;
}

// cudaFree waits for the work that is queued on the device, so no kernel loses its buffer.
void release(void* data, int) noexcept { cudaFree(data); }

void copy(void* to, const void* from, std::size_t bytes, void* stream) {
  if (bytes == 0) return;
  const auto native = static_cast<cudaStream_t>(stream);
  TESSERA_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native));
  if (is_host(to) || is_host(from)) TESSERA_CUDA_CHECK(cudaStreamSynchronize(native));
}

}  // namespace tessera::cuda
