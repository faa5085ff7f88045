// Maxima of magnitudes. They order like their bit patterns and atomicMax reduces them exactly in any order, so no
// result depends on the launch.
#include "tessera/kernels/cuda/element.cuh"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256;

__device__ inline std::uint32_t larger_of_warp(std::uint32_t m) { return __reduce_max_sync(~0u, m); }

// The largest of the block of threads, added to *largest by one thread.
__device__ inline void publish(std::uint32_t m, std::uint32_t* largest) {
  __shared__ std::uint32_t of_warp[kThreads / 32];
  m = larger_of_warp(m);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = m;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  m = larger_of_warp(threadIdx.x < kThreads / 32 ? of_warp[threadIdx.x] : 0);
  if (threadIdx.x == 0 && m != 0) atomicMax(largest, m);
}

template <DType kType>
__device__ inline std::uint32_t order_at(const void* x, std::int64_t i) {
  return __float_as_uint(element_at<kType>(x, i)) & 0x7fffffffu;
}

// Magnitudes in a word: one f32, or two of 16 bits, whose maximum is taken half by half.
template <DType kType>
__device__ inline std::uint32_t larger_words(std::uint32_t m, std::uint32_t word) {
  if constexpr (kType == DType::kF32) return max(m, word & 0x7fffffffu);
  return __vmaxu2(m, word & 0x7fff7fffu);
}
template <DType kType>
__device__ inline std::uint32_t order_of_words(std::uint32_t m) {
  if constexpr (kType == DType::kF32) return m;
  const std::uint16_t half = static_cast<std::uint16_t>(max(m & 0xffffu, m >> 16));
  return order_at<kType>(&half, 0);
}

// `vectors` of 16 bytes, then elements [first, count).
template <DType kType>
__global__ void __launch_bounds__(kThreads)
    amax_kernel(const void* x, std::int64_t vectors, std::int64_t first, std::int64_t count, std::uint32_t* largest) {
  constexpr int kAtOnce = 4;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const std::int64_t me = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const uint4* v = static_cast<const uint4*>(x);
  std::uint32_t words = 0;
  for (std::int64_t i = me; i < vectors; i += step * kAtOnce) {
    uint4 loaded[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      loaded[u] = i + u * step < vectors ? __ldcs(v + i + u * step) : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      words = larger_words<kType>(words, loaded[u].x);
      words = larger_words<kType>(words, loaded[u].y);
      words = larger_words<kType>(words, loaded[u].z);
      words = larger_words<kType>(words, loaded[u].w);
    }
  }
  std::uint32_t m = order_of_words<kType>(words);
  for (std::int64_t i = first + me; i < count; i += step) m = max(m, order_at<kType>(x, i));
  publish(m, largest);
}

// Blocks of few elements: `lanes` (a power of two) neighbouring threads take one.
template <DType kType>
__global__ void __launch_bounds__(kThreads)
    small_blocks_kernel(const void* x, Piece p, int lanes, std::uint32_t* maxima) {
  const std::int64_t groups = static_cast<std::int64_t>(gridDim.x) * kThreads / lanes;
  const std::int64_t total = p.blocks.count();
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t me = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / lanes;
  const std::int64_t rounds = ceil_div(total, groups);  // the same for all: every lane takes part in the shuffles
  for (std::int64_t k = 0; k < rounds; ++k) {
    const std::int64_t b = me + k * groups;
    std::uint32_t m = 0;
    if (b < total) {
      const std::int64_t r0 = (p.first_row + b / p.blocks.cols) * p.block.rows - p.row;
      const std::int64_t c0 = (p.first_col + b % p.blocks.cols) * p.block.cols - p.col;
      const std::int64_t r1 = min(r0 + p.block.rows, p.extent.rows), c1 = min(c0 + p.block.cols, p.extent.cols);
      for (std::int64_t r = max(r0, std::int64_t{0}); r < r1; ++r)
        for (std::int64_t c = max(c0, std::int64_t{0}) + lane; c < c1; c += lanes)
          m = max(m, order_at<kType>(x, r * p.extent.cols + c));
    }
    for (int other = lanes / 2; other > 0; other /= 2) m = max(m, __shfl_xor_sync(~0u, m, other));
    if (b < total && lane == 0) maxima[b] = m;
  }
}

// Blocks of many: each is cut in strips, one for a block of threads.
struct Strips {
  std::int64_t rows, cols;  // of one
  std::int64_t down, across;
};
template <DType kType>
__global__ void __launch_bounds__(kThreads)
    large_blocks_kernel(const void* x, Piece p, Strips s, std::uint32_t* maxima) {
  const std::int64_t per_block = s.down * s.across, total = p.blocks.count() * per_block;
  for (std::int64_t i = blockIdx.x; i < total; i += gridDim.x) {
    const std::int64_t b = i / per_block, strip = i % per_block;
    const std::int64_t block_r = (p.first_row + b / p.blocks.cols) * p.block.rows - p.row;
    const std::int64_t block_c = (p.first_col + b % p.blocks.cols) * p.block.cols - p.col;
    const std::int64_t r0 = block_r + strip / s.across * s.rows, c0 = block_c + strip % s.across * s.cols;
    const std::int64_t r1 = min(min(r0 + s.rows, block_r + p.block.rows), p.extent.rows);
    const std::int64_t c1 = min(min(c0 + s.cols, block_c + p.block.cols), p.extent.cols);
    const std::int64_t width = min(s.cols, static_cast<std::int64_t>(kThreads));
    std::uint32_t m = 0;
    for (std::int64_t r = max(r0, std::int64_t{0}) + threadIdx.x / width; r < r1; r += kThreads / width)
      for (std::int64_t c = max(c0, std::int64_t{0}) + threadIdx.x % width; c < c1; c += width)
        m = max(m, order_at<kType>(x, r * p.extent.cols + c));
    publish(m, maxima + b);
  }
}

}  // namespace

void launch_amax(const Source& x, std::int64_t count, std::uint32_t* largest, NativeStream stream) {
  const auto native = static_cast<cudaStream_t>(stream);
  const std::int64_t each = 128 / dtype_bits(x.type);
  const bool aligned = reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
  const std::int64_t vectors = aligned ? count / each : 0;
  const unsigned int blocks = blocks_for(aligned ? vectors / 4 + 1 : count, kThreads, 132 * 8);
  with_source(x.type, [&]<DType kType>() {
    amax_kernel<kType><<<blocks, kThreads, 0, native>>>(x.data, vectors, vectors * each, count, largest);
  });
}

void launch_block_amax(const Source& x, const Piece& p, std::uint32_t* maxima, NativeStream stream) {
  const auto native = static_cast<cudaStream_t>(stream);
  const std::int64_t rows = p.block.rows < p.extent.rows ? p.block.rows : p.extent.rows;
  const std::int64_t cols = p.block.cols < p.extent.cols ? p.block.cols : p.extent.cols;
  if (rows * cols <= 1024) {
    int lanes = 1;
    while (lanes < 32 && lanes * 4 < cols) lanes *= 2;
    const unsigned int blocks = blocks_for(p.blocks.count() * lanes, kThreads);
    with_source(x.type, [&]<DType kType>() {
      small_blocks_kernel<kType><<<blocks, kThreads, 0, native>>>(x.data, p, lanes, maxima);
    });
    return;
  }
  Strips s{.rows = 0, .cols = cols < 4096 ? cols : 4096, .down = 0, .across = 0};
  s.rows = ceil_div(16384, s.cols);
  s.down = ceil_div(p.block.rows, s.rows);
  s.across = ceil_div(p.block.cols, s.cols);
  const unsigned int blocks = blocks_for(p.blocks.count() * s.down * s.across, 1);
  with_source(x.type, [&]<DType kType>() {
    large_blocks_kernel<kType><<<blocks, kThreads, 0, native>>>(x.data, p, s, maxima);
  });
}

}  // namespace tessera::cuda
