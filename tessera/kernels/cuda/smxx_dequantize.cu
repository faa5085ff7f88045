// Values of any format, sense and segmentation: a thread takes eight neighbours of a row.
#include "tessera/kernels/cuda/element.cuh"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 8;

__device__ inline float global_of_row(const DequantizeArgs& a, std::int64_t r) {
  if (!a.format.has_global) return 1;
  std::int64_t segment = 0;
  while (segment + 1 < a.segments && a.segment_ends[segment] <= r) ++segment;
  return a.globals[segment];
}

template <DType kInto>
__device__ inline void store(void* into, std::int64_t i, float value) {
  if constexpr (kInto == DType::kF32)
    static_cast<float*>(into)[i] = value;
  else
    static_cast<std::uint16_t*>(into)[i] = bits16(kInto, round_to(kInto, value));
}

template <Kind kKind, DType kInto>
__global__ void __launch_bounds__(kThreads) dequantize_kernel(DequantizeArgs a) {
  constexpr Element kElement = element_of(kKind);
  constexpr int kBits = kElement.bits();
  const std::int64_t per_row = ceil_div(a.extent.cols, kEach), total = per_row * a.extent.rows;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < total; i += step) {
    const std::int64_t r = i / per_row, c0 = (i - r * per_row) * kEach;
    const int count = static_cast<int>(min(a.extent.cols - c0, std::int64_t{kEach}));
    const std::int64_t scale_row = r / a.block.rows * a.scale_cols;
    const float global = global_of_row(a, r);
    const std::uint8_t* codes = a.codes + r * a.row_bytes;
    std::int64_t block_c = c0 / a.block.cols, block_end = (block_c + 1) * a.block.cols;
    float scale = decode_scale_bits<float>(a.format, stored_scale(a.format, a.scales, scale_row + block_c));
#pragma unroll 1
    for (int k = 0; k < count; ++k) {
      const std::int64_t c = c0 + k;
      if (c == block_end) {
        ++block_c;
        block_end += a.block.cols;
        scale = decode_scale_bits<float>(a.format, stored_scale(a.format, a.scales, scale_row + block_c));
      }
      const std::uint32_t code = load_code(codes, kBits, c);
      const float value = value_of(a.format, kElement, a.sense, a.reads_minus_zero, code, scale, global);
      store<kInto>(a.into, r * a.extent.cols + c, value);
    }
  }
}

}  // namespace

void launch_dequantize(const DequantizeArgs& a, NativeStream stream) {
  const auto native = static_cast<cudaStream_t>(stream);
  const unsigned int blocks = blocks_for(a.extent.rows * ceil_div(a.extent.cols, kEach), kThreads);
  with_kind(a.format.element, [&]<Kind kKind>() {
    with_source(a.type, [&]<DType kInto>() { dequantize_kernel<kKind, kInto><<<blocks, kThreads, 0, native>>>(a); });
  });
}

}  // namespace tessera::cuda
