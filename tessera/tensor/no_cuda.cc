// The tensor floor in a build without CUDA.
#include "tessera/base/error.h"
#include "tessera/tensor/cuda_runtime.h"

namespace tessera::cuda {
namespace {
[[noreturn]] void refuse() { fail(Errc::kUnsupported, "{}", availability()); }
}  // namespace

int device_count() { return 0; }
std::string availability() { return "this build has no CUDA (configure with the preset `cuda`)"; }
void* create_stream(int) { refuse(); }
void destroy_stream(void*) noexcept {}
void synchronize(void*) { refuse(); }
void* allocate(std::size_t, int) { refuse(); }
void release(void*, int) noexcept {}
void copy(void*, const void*, std::size_t, void*) { refuse(); }

}  // namespace tessera::cuda
