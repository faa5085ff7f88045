// Codes of any format, writer and cut, given the operands of the blocks: a thread takes eight neighbours of a row, so
// that codes of fewer than 8 bits share no byte between threads.
#include "tessera/kernels/cuda/element.cuh"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 8;

// The random words of neighbouring elements come four from one draw.
struct Draws {
  RandomKey key;
  std::uint64_t block = ~std::uint64_t{0};
  Philox4 drawn{};
  __device__ std::uint32_t word(std::uint64_t index) {
    if (index / 4 != block) {
      block = index / 4;
      drawn = philox(static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32),
                     {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                       static_cast<std::uint32_t>(key.stream), static_cast<std::uint32_t>(key.stream >> 32)}});
    }
    const std::uint32_t low = index & 1 ? drawn.word[1] : drawn.word[0];
    const std::uint32_t high = index & 1 ? drawn.word[3] : drawn.word[2];
    return index & 2 ? high : low;
  }
};

template <Kind kKind, DType kType>
__global__ void __launch_bounds__(kThreads) encode_kernel(EncodeArgs a) {
  constexpr Element kElement = element_of(kKind);
  constexpr int kBits = kElement.bits();
  const Piece& p = a.piece;
  const std::int64_t per_row = ceil_div(p.extent.cols, kEach), total = per_row * p.extent.rows;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < total; i += step) {
    const std::int64_t r = i / per_row, c0 = (i - r * per_row) * kEach;
    const int count = static_cast<int>(min(p.extent.cols - c0, std::int64_t{kEach}));
    const float* operands = a.operands + ((p.row + r) / p.block.rows - p.first_row) * p.blocks.cols;
    std::int64_t block_c = (p.col + c0) / p.block.cols - p.first_col;
    std::int64_t block_end = (block_c + p.first_col + 1) * p.block.cols - p.col;
    float operand = operands[block_c];
    const std::uint64_t logical = static_cast<std::uint64_t>((p.row + r) * p.whole_cols + p.col + c0);
    Draws draws{.key = a.key};
    std::uint64_t packed = 0;
#pragma unroll 1
    for (int k = 0; k < count; ++k) {
      if (c0 + k == block_end) {
        operand = operands[++block_c];
        block_end += p.block.cols;
      }
      const float x = element_at<kType>(a.x.data, r * p.extent.cols + c0 + k);
      const std::uint32_t random = a.how.stochastic ? draws.word(logical + static_cast<std::uint64_t>(k)) : 0;
      packed |= static_cast<std::uint64_t>(code_of(kElement, a.how, kType, x, operand, random)) << (kBits * k);
    }
    std::uint8_t* out = a.codes + r * a.row_bytes + c0 * kBits / 8;
    const int bytes = (count * kBits + 7) / 8;
    constexpr bool kIsWord = kBits == 8 || kBits == 4;  // eight codes are a word that can be stored at once
    if (kIsWord && count == kEach && reinterpret_cast<std::uintptr_t>(out) % kBits == 0) {
      if constexpr (kBits == 8)
        *reinterpret_cast<std::uint64_t*>(out) = packed;
      else
        *reinterpret_cast<std::uint32_t*>(out) = static_cast<std::uint32_t>(packed);
    } else {
      for (int k = 0; k < bytes; ++k) out[k] = static_cast<std::uint8_t>(packed >> (8 * k));
    }
  }
}

}  // namespace

void launch_encode(const EncodeArgs& a, NativeStream stream) {
  const auto native = static_cast<cudaStream_t>(stream);
  const unsigned int blocks = blocks_for(a.piece.extent.rows * ceil_div(a.piece.extent.cols, kEach), kThreads);
  with_kind(a.element, [&]<Kind kKind>() {
    with_source(a.x.type, [&]<DType kType>() { encode_kernel<kKind, kType><<<blocks, kThreads, 0, native>>>(a); });
  });
}

}  // namespace tessera::cuda
