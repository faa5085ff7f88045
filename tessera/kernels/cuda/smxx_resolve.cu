// Scales from maxima by the writer's own rule, one thread a block; a kernel for each writer of the registry.
#include "tessera/kernels/cuda/element.cuh"
#include "tessera_registry/writers_each.inc"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 128;

__device__ inline float source_at(const Source& x, std::int64_t i) {
  if (x.type == DType::kF32) return element_at<DType::kF32>(x.data, i);
  return x.type == DType::kBf16 ? element_at<DType::kBf16>(x.data, i) : element_at<DType::kF16>(x.data, i);
}

// Sum of |restored - x| of block `b`, in index order, with the codes of this choice.
template <class Rule>
__device__ float candidate_error(const Resolve& a, std::int64_t b, const ScaleChoice<float>& choice) {
  const Piece& p = a.piece;
  const std::int64_t r0 = (p.first_row + b / p.blocks.cols) * p.block.rows - p.row;
  const std::int64_t c0 = (p.first_col + b % p.blocks.cols) * p.block.cols - p.col;
  const std::int64_t r1 = min(r0 + p.block.rows, p.extent.rows), c1 = min(c0 + p.block.cols, p.extent.cols);
  const float scale = decode_scale_bits<float>(a.format, choice.bits);
  float error = 0;
  for (std::int64_t r = max(r0, std::int64_t{0}); r < r1; ++r) {
    for (std::int64_t c = max(c0, std::int64_t{0}); c < c1; ++c) {
      const float x = source_at(a.x, r * p.extent.cols + c);
      const std::uint32_t code = code_of(a.format.element, a.encode, a.x.type, x, choice.operand, 0);
      error += magnitude(Rule::restored(decode(a.format.element, code), scale, a.tensor_amax) - x);
    }
  }
  return error;
}

template <class Rule>
__device__ ScaleChoice<float> choose_scale(const Resolve& a, std::int64_t b, float amax) {
  const ScaleInput<float> input{amax, a.global, a.tensor_amax, a.x.type};
  if constexpr (candidates_of<Rule>() == 1) {
    return Rule::template scale<float>(a.format, input);
  } else {
    ScaleChoice<float> best = Rule::template scale<float>(a.format, input, 0);
    float least = candidate_error<Rule>(a, b, best);
    for (int candidate = 1; candidate < candidates_of<Rule>(); ++candidate) {
      const ScaleChoice<float> next = Rule::template scale<float>(a.format, input, candidate);
      const float error = candidate_error<Rule>(a, b, next);
      if (error < least) {
        least = error;
        best = next;
      }
    }
    return best;
  }
}

template <class Rule>
__global__ void __launch_bounds__(kThreads) resolve_kernel(Resolve a) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const std::int64_t total = a.piece.blocks.count();
  for (std::int64_t b = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; b < total; b += step) {
    const float amax = __uint_as_float(a.maxima[b]);
    if (!is_finite(amax)) atomicMin(a.not_finite, static_cast<Index>(b));
    const ScaleChoice<float> choice = choose_scale<Rule>(a, b, amax);
    if (a.format.scale == kE8M23)
      static_cast<float*>(a.scales)[b] = nan_as_on_cpu(__uint_as_float(choice.bits), amax, amax);
    else
      static_cast<std::uint8_t*>(a.scales)[b] = static_cast<std::uint8_t>(choice.bits);
    a.operands[b] = choice.operand;
  }
}

template <class Rule>
void launch_resolve(const Resolve& a, NativeStream stream) {
  resolve_kernel<Rule>
      <<<blocks_for(a.piece.blocks.count(), kThreads), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(a);
}

__global__ void __launch_bounds__(kThreads) given_operands_kernel(GivenScales g) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t b = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; b < g.count; b += step) {
    const float scale = decode_scale_bits<float>(g.format, stored_scale(g.format, g.scales, b));
    g.operands[b] = given_operand(g.format, g.how, g.sense, scale, g.global);
  }
}

}  // namespace

ResolveLaunch find_resolve(const Writer& writer) {
#define TESSERA_TRY(name) \
  if (&writer == &writers::name) return &launch_resolve<decltype(writers::name)::Rule>;
  TESSERA_EACH_writers(TESSERA_TRY)
#undef TESSERA_TRY
      return nullptr;
}

void launch_given_operands(const GivenScales& given, NativeStream stream) {
  given_operands_kernel<<<blocks_for(given.count, kThreads), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(given);
}

}  // namespace tessera::cuda
