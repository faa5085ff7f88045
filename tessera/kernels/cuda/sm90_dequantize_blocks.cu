// Values of E2M1 and E4M3 codes as bf16 in one pass: whole blocks of a row, one global, everything contiguous. A thread
// takes 8 codes, so that its store of 16 bytes lies beside its neighbours'. A code becomes an f16 exactly (E2M1 as
// value * 2^-14), that an f32, and one multiplication and one rounding follow as in the reference; what could make a
// NaN or leave the range of that goes one element at a time.
#include "tessera/kernels/cuda/element.cuh"
#include "tessera/kernels/cuda/tags.cuh"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kEach = 8;

template <class Tag>
constexpr bool qualifies() {
  constexpr Format f = facts_of(Tag::kFormat);
  return f.is_scaled() && (f.element == kE2M1 || f.element == kE4M3) && f.block.rows == 1 && f.block.cols >= kEach &&
         is_power_of_two(f.block.cols);
}

__device__ inline std::uint32_t f16_pair_of_e4m3(std::uint32_t pair) {
  std::uint32_t result;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(result) : "h"(static_cast<std::uint16_t>(pair)));
  return result;
}
__device__ inline float low_of_f16(std::uint32_t pair) {
  float value;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l; }" : "=f"(value) : "r"(pair));
  return value;
}
__device__ inline float high_of_f16(std::uint32_t pair) {
  float value;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h; }" : "=f"(value) : "r"(pair));
  return value;
}
__device__ inline std::uint32_t bf16_pair(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
// -0 + 0 is +0; f16's subnormals stay.
__device__ inline std::uint32_t without_minus_zero_f16(std::uint32_t pair) {
  std::uint32_t result;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(pair), "r"(0u));
  return result;
}

// 8 codes as four pairs of f16: E2M1 codes k and k + 4, as value * 2^-14; E4M3 codes 2k and 2k + 1.
template <Kind kKind>
__device__ inline void f16_of_codes(uint2 codes, std::uint32_t (&pairs)[4]) {
  const std::uint32_t w = codes.x;
  if constexpr (kKind == Kind::kE2M1) {
    pairs[0] = ((w << 9) & 0x0e000e00u) | ((w << 12) & 0x80008000u);
    pairs[1] = ((w << 5) & 0x0e000e00u) | ((w << 8) & 0x80008000u);
    pairs[2] = ((w << 1) & 0x0e000e00u) | ((w << 4) & 0x80008000u);
    pairs[3] = ((w >> 3) & 0x0e000e00u) | (w & 0x80008000u);
  } else {
    pairs[0] = f16_pair_of_e4m3(w);
    pairs[1] = f16_pair_of_e4m3(w >> 16);
    pairs[2] = f16_pair_of_e4m3(codes.y);
    pairs[3] = f16_pair_of_e4m3(codes.y >> 16);
  }
}
template <Kind kKind>
__device__ inline bool has_nan(uint2 codes) {
  if constexpr (kKind == Kind::kE2M1) return false;
  return ((((codes.x & 0x7f7f7f7fu) + 0x01010101u) | ((codes.y & 0x7f7f7f7fu) + 0x01010101u)) & 0x80808080u) != 0;
}

template <Kind kKind>
__device__ __noinline__ uint4 careful_values(Format f, Sense sense, bool reads_minus_zero, uint2 codes, float scale,
                                             float global) {
  constexpr int kBits = element_of(kKind).bits();
  std::uint32_t words[4] = {0, 0, 0, 0};
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const std::uint32_t word = k * kBits < 32 ? codes.x : codes.y;
    const std::uint32_t code = (word >> (k * kBits % 32)) & ((1u << kBits) - 1);
    const float value = value_of(f, element_of(kKind), sense, reads_minus_zero, code, scale, global);
    words[k / 2] |= static_cast<std::uint32_t>(bits16(DType::kBf16, round_to(DType::kBf16, value))) << (16 * (k % 2));
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

template <class Tag>
__device__ inline float scale_of(std::uint32_t bits) {
  if constexpr (Tag::kFormat.scale == kE4M3) return low_of_f16(f16_pair_of_e4m3(bits & 0x7fu));
  return decode_scale_bits<float>(facts_of(Tag::kFormat), bits);
}

template <class Tag, bool kReadsMinusZero>
__device__ inline uint4 values_of(const DequantizeBlocks& a, uint2 codes, std::uint32_t scale_bits, float global) {
  constexpr Format f = facts_of(Tag::kFormat);
  constexpr Kind kKind = f.element == kE2M1 ? Kind::kE2M1 : Kind::kE4M3;
  const float scale = scale_of<Tag>(scale_bits);
  const float together = f.has_global ? decoding_scale(a.sense, scale, global) : scale;
  constexpr float kMost = 0x1p100f;  // above: infinities, NaN, and what 2^14 more could make infinite
  const bool is_tame = (!f.has_global || a.sense != Sense::kReciprocalFirst) && magnitude(together) < kMost;
  if (!is_tame || has_nan<kKind>(codes))
    return careful_values<kKind>(f, a.sense, kReadsMinusZero, codes, scale, global);
  const float factor = kKind == Kind::kE2M1 ? together * 0x1p14f : together;
  std::uint32_t pairs[4];
  f16_of_codes<kKind>(codes, pairs);
  float low[4], high[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if constexpr (!kReadsMinusZero) pairs[k] = without_minus_zero_f16(pairs[k]);
    low[k] = low_of_f16(pairs[k]) * factor;
    high[k] = high_of_f16(pairs[k]) * factor;
  }
  if constexpr (kKind == Kind::kE2M1)
    return make_uint4(bf16_pair(low[0], low[1]), bf16_pair(low[2], low[3]), bf16_pair(high[0], high[1]),
                      bf16_pair(high[2], high[3]));
  return make_uint4(bf16_pair(low[0], high[0]), bf16_pair(low[1], high[1]), bf16_pair(low[2], high[2]),
                    bf16_pair(low[3], high[3]));
}

template <class Tag>
__device__ inline std::uint32_t scale_bits_at(const void* scales, std::int64_t block) {
  if constexpr (Tag::kFormat.scale == kE8M23) return __ldg(static_cast<const std::uint32_t*>(scales) + block);
  return __ldg(static_cast<const std::uint8_t*>(scales) + block);
}

template <class Tag, bool kReadsMinusZero, int kAtOnce>
__global__ void __launch_bounds__(kThreads) dequantize_blocks_kernel(DequantizeBlocks a) {
  constexpr bool kFourBits = Tag::kFormat.element == kE2M1;
  constexpr int kLanes = static_cast<int>(Tag::kFormat.block.cols) / kEach;
  const std::int64_t i0 = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kAtOnce) + threadIdx.x;
  uint2 codes[kAtOnce];
  std::uint32_t scale_bits[kAtOnce];
  const float global = Tag::kFormat.has_global ? __ldg(a.global) : 1.f;
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    const std::int64_t i = i0 + u * kThreads;
    if (i >= a.chunks) continue;
    if constexpr (kFourBits)
      codes[u] = make_uint2(__ldcs(static_cast<const std::uint32_t*>(a.codes) + i), 0);
    else
      codes[u] = __ldcs(static_cast<const uint2*>(a.codes) + i);
    scale_bits[u] = scale_bits_at<Tag>(a.scales, i / kLanes);
  }
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    const std::int64_t i = i0 + u * kThreads;
    if (i >= a.chunks) continue;
    static_cast<uint4*>(a.into)[i] = values_of<Tag, kReadsMinusZero>(a, codes[u], scale_bits[u], global);
  }
}

template <class Tag>
void launch_dequantize_blocks(const DequantizeBlocks& a, NativeStream stream) {
  constexpr int kAtOnce = 2;
  const auto native = static_cast<cudaStream_t>(stream);
  const auto blocks = static_cast<unsigned int>(ceil_div(a.chunks, kThreads * kAtOnce));
  if (a.reads_minus_zero)
    dequantize_blocks_kernel<Tag, true, kAtOnce><<<blocks, kThreads, 0, native>>>(a);
  else
    dequantize_blocks_kernel<Tag, false, kAtOnce><<<blocks, kThreads, 0, native>>>(a);
}

}  // namespace

DequantizeBlocksLaunch find_dequantize_blocks(const Format& format) {
#define TESSERA_TRY(stem)               \
  if constexpr (qualifies<tag::stem>()) \
    if (same_facts(format, tag::stem::kFormat)) return &launch_dequantize_blocks<tag::stem>;
  TESSERA_EACH_formats(TESSERA_TRY)
#undef TESSERA_TRY
      return nullptr;
}

}  // namespace tessera::cuda
