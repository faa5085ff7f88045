// quantize and dequantize in a build without CUDA: no stream on a GPU exists there, so nobody calls these.
#include "tessera/base/error.h"
#include "tessera/kernels/cuda/quantize.h"
#include "tessera/tensor/cuda_runtime.h"

namespace tessera::cuda {
namespace {
[[noreturn]] void refuse() { fail(Errc::kUnsupported, "{}", availability()); }
}  // namespace

std::int64_t quantize(Stream&, const QuantizeJob&) { refuse(); }
float amax(Stream&, const Tensor&) { refuse(); }
void block_amax(Stream&, const Tensor&, const BlockGrid&, std::span<float>) { refuse(); }
void dequantize(Stream&, const QuantizedTensor&, Tensor&) { refuse(); }
void queue_quantize(Stream&, const QuantizeJob&, unsigned long long*) { refuse(); }
std::span<const QuantizeVariant> quantize_variants() { return {}; }
std::string_view chosen_variant(const Stream&, const QuantizeJob&) { refuse(); }

}  // namespace tessera::cuda
