// NVFP4 from bf16 on Blackwell, which converts to E2M1 itself (cvt.rn.satfinite.e2m1x2.f32). Compiled for sm_100a
// beside the rest; no machine of the project has such a chip, so it is not run on a device. The conversion rounds to
// nearest, ties to even, saturates and keeps the sign of zero, as PTX ISA 8.6 says; the quotients are those of
// sm90_blocks.cuh.
#include "tessera/kernels/cuda/sm90_blocks.cuh"
#include "tessera_registry/writers_each.inc"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kChunk = 16;
constexpr Format kFormat{.name = {}, .element = kE2M1, .block = {16, 1}, .scale = kE4M3, .has_global = true};

template <class Rule>
constexpr bool qualifies() {
  if constexpr (candidates_of<Rule>() != 1 || !Rule::supports(kFormat)) {
    return false;
  } else {
    constexpr Encode how = Rule::encode(kFormat, DType::kBf16);
    return !how.stochastic && !how.multiply && !how.round_quotient && how.ties == Ties::kEven &&
           (how.sign == SignOfZero::kKept || how.sign == SignOfZero::kMinusZeroOff);
  }
}

// 8 numbers, 4 pairs, the first in the low nibble.
__device__ inline std::uint32_t e2m1_of_pairs(const std::uint32_t* pairs, const Divisor& d) {
  std::uint32_t word = 0;
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    std::uint32_t byte;
    asm("{ .reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, %1, %2; cvt.u32.u8 %0, b; }"
        : "=r"(byte)
        : "f"(quotient<Quotient::kDivide>(high_float(pairs[i]), d)),
          "f"(quotient<Quotient::kDivide>(low_float(pairs[i]), d)));
    word |= byte << (8 * i);
  }
#endif
  return word;
}

__device__ __noinline__ uint2 careful_codes(const std::uint32_t* pairs, Encode how, float operand) {
  std::uint32_t words[2] = {0, 0};
  for (int k = 0; k < kChunk; ++k) {
    const std::uint16_t half = static_cast<std::uint16_t>(pairs[k / 2] >> (16 * (k % 2)));
    const float x = element_at<DType::kBf16>(&half, 0);
    words[k / 8] |= code_of(kE2M1, how, DType::kBf16, x, operand, 0) << (4 * (k % 8));
  }
  return make_uint2(words[0], words[1]);
}

template <class Rule>
__global__ void __launch_bounds__(kThreads) quantize_nvfp4_kernel(QuantizeBlocks a) {
  constexpr Format f = kFormat;
  constexpr Encode how = Rule::encode(f, DType::kBf16);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= a.chunks) return;
  const uint4* x = static_cast<const uint4*>(a.x) + 2 * i;
  const uint4 first = __ldcs(x), second = __ldcs(x + 1);
  std::uint32_t pairs[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
  std::uint32_t top = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) top = __vmaxu2(top, pairs[k] & 0x7fff7fffu);
  const std::uint32_t largest = max(top & 0xffffu, top >> 16);
  const float amax = __uint_as_float(largest > 0x7f80u ? 0x7fc00000u : largest << 16);
  const ScaleInput<float> input{amax, a.global, a.tensor_amax, DType::kBf16};
  const ScaleChoice<float> choice = Rule::template scale<float>(f, input);
  const Divisor d = divisor_of<Quotient::kDivide>(choice.operand, amax, kEndOfCodes);
  uint2 codes;
  if (d.is_tame) {
    if constexpr (how.sign == SignOfZero::kMinusZeroOff) {
#pragma unroll
      for (int k = 0; k < 8; ++k) pairs[k] = without_minus_zero(pairs[k]);
    }
    codes = make_uint2(e2m1_of_pairs(pairs, d), e2m1_of_pairs(pairs + 4, d));
  } else {
    codes = careful_codes(pairs, how, choice.operand);
  }
  __stcs(static_cast<uint2*>(a.codes) + i, codes);
  static_cast<std::uint8_t*>(a.scales)[i] = static_cast<std::uint8_t>(choice.bits);
  if (largest >= 0x7f80u) atomicMin(a.not_finite, static_cast<Index>(i));
}

template <class Rule>
void launch_quantize_nvfp4(const QuantizeBlocks& a, NativeStream stream) {
  const auto blocks = static_cast<unsigned int>(ceil_div(a.chunks, kThreads));
  quantize_nvfp4_kernel<Rule><<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(a);
}

}  // namespace

QuantizeBlocksLaunch find_sm100_quantize_nvfp4(const Writer& writer, const Format& format) {
  if (format.element != kFormat.element || format.block != kFormat.block || format.scale != kFormat.scale)
    return nullptr;
#define TESSERA_TRY(stem)                                   \
  if constexpr (qualifies<decltype(writers::stem)::Rule>()) \
    if (&writer == &writers::stem) return &launch_quantize_nvfp4<decltype(writers::stem)::Rule>;
  TESSERA_EACH_writers(TESSERA_TRY)
#undef TESSERA_TRY
      return nullptr;
}

}  // namespace tessera::cuda
