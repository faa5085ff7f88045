// Quantizing bf16 in one pass: whole blocks of 16 to 512 elements of a row, everything contiguous. A thread takes 16
// elements (two loads of 16 bytes), neighbouring lanes share a block and agree on its maximum by shuffles, each runs
// the writer's rule, and codes leave in one store of 8 or 16 bytes. A kernel for each format and writer that qualify.
// Measured: bench/results/h200.md.
#include "tessera/kernels/cuda/gpu_lane.cuh"
#include "tessera/kernels/cuda/sm90_blocks.cuh"
#include "tessera/kernels/cuda/tags.cuh"
#include "tessera_registry/writers_each.inc"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kChunk = 16;

// What a kernel knows of its format and writer at compile time.
template <class Rule, class Tag>
struct Facts {
  static constexpr Element kElement = Tag::kFormat.element;
  static constexpr Kind kKind = kElement == kE2M1 ? Kind::kE2M1 : kElement == kE4M3 ? Kind::kE4M3 : Kind::kE5M2;
  static constexpr Encode kEncode = Rule::encode(Tag::kFormat, DType::kBf16);
  static constexpr Quotient kQuotient = kEncode.multiply              ? Quotient::kMultiply
                                        : Tag::kFormat.scale == kE8M0 ? Quotient::kPower
                                                                      : Quotient::kDivide;
  static constexpr int kLanes = static_cast<int>(Tag::kFormat.block.cols) / kChunk;
  static constexpr float kEnd = kKind == Kind::kE2M1 ? kEndOfE2M1 : kEndOfCodes;
  // Chunks of a thread, for loads in flight: what bench/results/h200.md found best.
  static constexpr int kAtOnce = kLanes == 1 ? 4 : 2;
};

template <class Rule, class Tag>
constexpr bool qualifies() {
  constexpr Format f = Tag::kFormat;
  constexpr bool has_kind = f.element == kE2M1 || f.element == kE4M3 || f.element == kE5M2;
  if constexpr (f.is_dense() || !has_kind || f.block.rows != 1 || f.block.cols < kChunk || f.block.cols > 32 * kChunk ||
                !is_power_of_two(f.block.cols) || !Rule::supports(f) || candidates_of<Rule>() != 1) {
    return false;
  } else {
    constexpr Encode how = Rule::encode(f, DType::kBf16);
    constexpr bool four_bits = f.element == kE2M1;
    if (how.stochastic || how.ties == Ties::kFirst || how.ties == Ties::kHalfAdded || how.sign == SignOfZero::kDropped)
      return false;
    if (how.ties == Ties::kTowardZero && !(four_bits && f.scale == kE8M0 && !how.multiply)) return false;
    return four_bits ? !how.round_quotient : how.sign != SignOfZero::kSetOnZero;
  }
}

// Sixteen numbers, in pairs.
struct Chunk {
  std::uint32_t pairs[8], magnitudes[8];
};
__device__ inline Chunk load_chunk(const void* x, std::uint32_t i) {
  // Not __ldcs: the two loads share sectors, which evict-first drops in between (a tenth of the bandwidth).
  const uint4 first = __ldg(static_cast<const uint4*>(x) + 2 * static_cast<std::uint64_t>(i));
  const uint4 second = __ldg(static_cast<const uint4*>(x) + 2 * static_cast<std::uint64_t>(i) + 1);
  return {{first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w}, {}};
}

template <class F, bool kSaturate>
__device__ inline uint4 tame_codes(const Chunk& c, Divisor d) {
  constexpr Encode how = F::kEncode;
  uint4 codes = make_uint4(0, 0, 0, 0);
  if constexpr (F::kKind == Kind::kE2M1) {
    // A bf16 over a power of two has 8 bits: 2^-16 less of it moves ties, and nothing else, under the boundary.
    if constexpr (how.ties == Ties::kTowardZero) d.high *= 1.f - 0x1p-16f;
    codes.x = e2m1_word<F::kQuotient, how.sign, kSaturate>(c.pairs, c.magnitudes, d);
    codes.y = e2m1_word<F::kQuotient, how.sign, kSaturate>(c.pairs + 4, c.magnitudes + 4, d);
  } else {
    codes.x = fp8_word<F::kKind, F::kQuotient, how.sign, how.round_quotient>(c.pairs, d);
    codes.y = fp8_word<F::kKind, F::kQuotient, how.sign, how.round_quotient>(c.pairs + 2, d);
    codes.z = fp8_word<F::kKind, F::kQuotient, how.sign, how.round_quotient>(c.pairs + 4, d);
    codes.w = fp8_word<F::kKind, F::kQuotient, how.sign, how.round_quotient>(c.pairs + 6, d);
  }
  return codes;
}

// Codes of a block that saturates, or one element at a time where it is not tame at all.
template <class F>
__device__ __noinline__ uint4 careful_codes(Chunk c, float operand, float amax) {
  constexpr int kBits = F::kElement.bits();
  if constexpr (F::kKind == Kind::kE2M1) {
    const Divisor d = divisor_of<F::kQuotient>(operand, amax, kEndOfCodes);
    if (d.is_tame) return tame_codes<F, true>(c, d);
  }
  constexpr Encode how = F::kEncode;
  std::uint32_t words[4] = {0, 0, 0, 0};
#pragma unroll
  for (int k = 0; k < kChunk; ++k) {
    const std::uint16_t half = static_cast<std::uint16_t>(c.pairs[k / 2] >> (16 * (k % 2)));
    const float x = element_at<DType::kBf16>(&half, 0);
    const std::uint32_t code = code_of(F::kElement, how, DType::kBf16, x, operand, 0);
    words[k * kBits / 32] |= code << (k * kBits % 32);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

template <class Rule, class Tag>
__device__ inline void quantize_chunk(const QuantizeBlocks& a, std::uint32_t i, Chunk c) {
  using F = Facts<Rule, Tag>;
  constexpr Format f = facts_of(Tag::kFormat);
  std::uint32_t top = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    c.magnitudes[k] = c.pairs[k] & 0x7fff7fffu;
    asm("" : "+r"(c.magnitudes[k]));  // kept: masking again after unpacking takes an instruction more
    top = __vmaxu2(top, c.magnitudes[k]);
  }
#pragma unroll
  for (int other = 1; other < F::kLanes; other *= 2) top = __vmaxu2(top, __shfl_xor_sync(~0u, top, other));
  const std::uint32_t largest = max(top & 0xffffu, top >> 16);
  const float amax = __uint_as_float(largest > 0x7f80u ? 0x7fc00000u : largest << 16);
  const ScaleInput<GpuLane> input{GpuLane{amax}, a.global, a.tensor_amax, DType::kBf16};
  const ScaleChoice<GpuLane> choice = Rule::template scale<GpuLane>(f, input);
  const std::uint32_t block = i / F::kLanes;
  const bool is_first = F::kLanes == 1 || i % F::kLanes == 0;
  const Divisor d = divisor_of<F::kQuotient>(choice.operand.v, amax, F::kEnd);
  uint4 codes;
  if (d.is_tame) {
    codes = tame_codes<F, false>(c, d);
  } else {
    codes = careful_codes<F>(c, choice.operand.v, amax);
    if (is_first && !is_finite(amax)) atomicMin(a.not_finite, static_cast<Index>(block));
  }
  if constexpr (F::kKind == Kind::kE2M1)
    __stcs(static_cast<uint2*>(a.codes) + i, make_uint2(codes.x, codes.y));
  else
    __stcs(static_cast<uint4*>(a.codes) + i, codes);
  if (!is_first) return;
  if constexpr (f.scale == kE8M23)
    static_cast<float*>(a.scales)[block] = nan_as_on_cpu(__uint_as_float(choice.bits), amax, amax);
  else
    static_cast<std::uint8_t*>(a.scales)[block] = static_cast<std::uint8_t>(choice.bits);
}

template <class Rule, class Tag, int kAtOnce>
__global__ void __launch_bounds__(kThreads) quantize_blocks_kernel(QuantizeBlocks a) {
  constexpr std::uint32_t kLanes = Facts<Rule, Tag>::kLanes;
  const std::uint32_t chunks = static_cast<std::uint32_t>(a.chunks);
  std::uint32_t at[kAtOnce];
  Chunk loaded[kAtOnce];
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    // Lanes past the end do the last block again, so that none is missing from a shuffle.
    const std::uint32_t i = (blockIdx.x * kAtOnce + u) * kThreads + threadIdx.x;
    at[u] = i < chunks ? i : chunks - kLanes + i % kLanes;
    loaded[u] = load_chunk(a.x, at[u]);
  }
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) quantize_chunk<Rule, Tag>(a, at[u], loaded[u]);
}

template <class Rule, class Tag>
void launch_quantize_blocks(const QuantizeBlocks& a, NativeStream stream) {
  constexpr int kAtOnce = Facts<Rule, Tag>::kAtOnce;
  const auto blocks = static_cast<unsigned int>(ceil_div(a.chunks, kThreads * kAtOnce));
  quantize_blocks_kernel<Rule, Tag, kAtOnce><<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(a);
}

template <class Rule>
QuantizeBlocksLaunch find_for_format(const Format& format) {
#define TESSERA_TRY(name)                     \
  if constexpr (qualifies<Rule, tag::name>()) \
    if (same_facts(format, tag::name::kFormat)) return &launch_quantize_blocks<Rule, tag::name>;
  TESSERA_EACH_formats(TESSERA_TRY)
#undef TESSERA_TRY
      return nullptr;
}

}  // namespace

QuantizeBlocksLaunch find_quantize_blocks(const Writer& writer, const Format& format) {
#define TESSERA_TRY(name) \
  if (&writer == &writers::name) return find_for_format<decltype(writers::name)::Rule>(format);
  TESSERA_EACH_writers(TESSERA_TRY)
#undef TESSERA_TRY
      return nullptr;
}

}  // namespace tessera::cuda
