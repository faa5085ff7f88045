#include "tessera/kernels/cuda/quantize.h"

#include "tessera/base/error.h"
#include "tessera/kernels/cuda/launch.h"
#include "tessera/kernels/cuda/scratch.h"

namespace tessera::cuda {
namespace {

constexpr int kChunk = 16;        // elements of QuantizeBlocks
constexpr int kChunkOfCodes = 8;  // elements of DequantizeBlocks

bool is_aligned(const Tensor& t) { return reinterpret_cast<std::uintptr_t>(t.data()) % 16 == 0; }

Piece piece_of(const BlockGrid& grid, Extent extent, std::int64_t whole_cols) {
  return {.extent = extent,
          .block = grid.block,
          .row = grid.row,
          .col = grid.col,
          .first_row = grid.first_row,
          .first_col = grid.first_col,
          .blocks = grid.blocks,
          .whole_cols = whole_cols};
}
Source source_of(const Tensor& x) { return {.data = x.data(), .type = x.dtype()}; }

// Whole blocks of a row, in memory one after the other, whose maxima are to be observed.
bool is_plain(const QuantizeJob& job) {
  const Block& block = job.grid.block;
  return job.x.dtype() == DType::kBf16 && job.agreed.empty() && !job.scales_given && block.rows == 1 &&
         job.grid.col % block.cols == 0 && job.extent.cols % block.cols == 0 && is_aligned(job.x) &&
         is_aligned(job.out.codes) && job.extent.count() / kChunk < std::int64_t{1} << 31;
}
bool is_sm100(int device) {
  int major = 0;
  TESSERA_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major == 10;
}

struct Implementation {
  QuantizeVariant variant;
  QuantizeBlocksLaunch (*find)(const Writer&, const Format&);
  bool (*is_here)(int device);
};
constexpr Implementation kImplementations[] = {
    {{"sm100_quantize_nvfp4", "bf16 to nvfp4, whole blocks", true}, &find_sm100_quantize_nvfp4, &is_sm100},
    {{"sm90_quantize_blocks", "bf16, whole blocks of 16 to 512 in a row, most writers", false},
     &find_quantize_blocks,
     [](int) { return true; }},
};
constexpr QuantizeVariant kGeneric{"smxx", "every dtype, format, writer and cut", false};
constexpr QuantizeVariant kVariants[] = {kImplementations[0].variant, kImplementations[1].variant, kGeneric};

struct Choice {
  QuantizeVariant variant;
  QuantizeBlocksLaunch launch;
};
Choice choose(const Stream& stream, const QuantizeJob& job) {
  if (is_plain(job)) {
    for (const Implementation& impl : kImplementations) {
      if (!impl.is_here(stream.device().index)) continue;
      if (const auto launch = impl.find(job.writer, job.out.format)) return {impl.variant, launch};
    }
  }
  return {kGeneric, nullptr};
}

void check_launch(const char* what) { check(cudaGetLastError(), what); }

// Observe, resolve, encode: a kernel each.
void queue_generic(Stream& stream, const QuantizeJob& job, Index* not_finite) {
  void* const native = stream.native();
  const auto blocks = static_cast<std::size_t>(job.grid.blocks.count());
  const Piece piece = piece_of(job.grid, job.extent, job.whole.cols);
  const Source x = source_of(job.x);
  Scratch operands(blocks * sizeof(float), native);
  if (job.scales_given) {
    launch_given_operands({.format = job.out.format,
                           .sense = job.out.sense,
                           .how = job.encode,
                           .global = job.global,
                           .scales = job.out.scales.data(),
                           .count = job.grid.blocks.count(),
                           .operands = operands.as<float>()},
                          native);
  } else {
    Scratch maxima(blocks * sizeof(std::uint32_t), native);
    if (job.agreed.empty()) {
      maxima.fill(0, blocks * sizeof(std::uint32_t));
      launch_block_amax(x, piece, maxima.as<std::uint32_t>(), native);
    } else {
      maxima.fill_from(job.agreed.data(), blocks * sizeof(std::uint32_t));
    }
    const ResolveLaunch resolve = find_resolve(job.writer);
    require(resolve != nullptr, Errc::kUnsupported, "quantize: on a GPU writer '{}' must be one of the registry",
            job.writer.name);
    resolve({.x = x,
             .piece = piece,
             .format = job.out.format,
             .encode = job.encode,
             .global = job.global,
             .tensor_amax = job.tensor_amax,
             .maxima = maxima.as<std::uint32_t>(),
             .scales = job.out.scales.data(),
             .operands = operands.as<float>(),
             .not_finite = not_finite},
            native);
  }
  launch_encode({.x = x,
                 .piece = piece,
                 .element = job.out.format.element,
                 .how = job.encode,
                 .key = job.key,
                 .operands = operands.as<float>(),
                 .codes = job.out.codes.as<std::uint8_t>(),
                 .row_bytes = row_bytes(job.out.format, job.extent.cols)},
                native);
}

void queue_generic_dequantize(Stream& stream, const QuantizedTensor& q, Tensor& into) {
  const std::size_t bytes = q.segment_ends.size() * sizeof(std::int64_t);
  Scratch ends(bytes, stream.native());
  if (bytes != 0) ends.fill_from(q.segment_ends.data(), bytes);
  launch_dequantize({.format = q.format,
                     .extent = q.extent,
                     .block = block_in(q.format, q.extent),
                     .scale_cols = scale_extent(q.format, q.extent).cols,
                     .row_bytes = row_bytes(q.format, q.extent.cols),
                     .sense = q.sense,
                     .reads_minus_zero = q.reads_minus_zero,
                     .codes = q.codes.as<std::uint8_t>(),
                     .scales = q.scales.data(),
                     .globals = q.global.as<float>(),
                     .segment_ends = ends.as<std::int64_t>(),
                     .segments = static_cast<std::int64_t>(q.segment_ends.size()),
                     .into = into.data(),
                     .type = into.dtype()},
                    stream.native());
}

}  // namespace

void queue_quantize(Stream& stream, const QuantizeJob& job, unsigned long long* not_finite) {
  const OnDevice on(stream.device().index);
  const Choice choice = choose(stream, job);
  if (choice.launch == nullptr) {
    queue_generic(stream, job, not_finite);
  } else {
    choice.launch({.x = job.x.data(),
                   .codes = job.out.codes.data(),
                   .scales = job.out.scales.data(),
                   .chunks = job.extent.count() / kChunk,
                   .global = job.global,
                   .tensor_amax = job.tensor_amax,
                   .not_finite = not_finite},
                  stream.native());
  }
  check_launch("quantize");
}

std::int64_t quantize(Stream& stream, const QuantizeJob& job) {
  const OnDevice on(stream.device().index);
  Scratch not_finite(sizeof(Index), stream.native());
  not_finite.fill(0xff, sizeof(Index));
  queue_quantize(stream, job, not_finite.as<Index>());
  if (!job.writer.refuses_non_finite(job.out.format)) return -1;
  Index first = kNone;
  not_finite.read(&first, sizeof first);
  return first == kNone ? -1 : static_cast<std::int64_t>(first);
}

float amax(Stream& stream, const Tensor& x) {
  const OnDevice on(stream.device().index);
  Scratch largest(sizeof(std::uint32_t), stream.native());
  largest.fill(0, sizeof(std::uint32_t));
  launch_amax(source_of(x), x.count(), largest.as<std::uint32_t>(), stream.native());
  check_launch("amax");
  float result = 0;
  largest.read(&result, sizeof result);
  return result;
}

void block_amax(Stream& stream, const Tensor& x, const BlockGrid& grid, std::span<float> maxima) {
  const OnDevice on(stream.device().index);
  Scratch observed(maxima.size_bytes(), stream.native());
  observed.fill(0, maxima.size_bytes());
  launch_block_amax(source_of(x), piece_of(grid, x.extent(), 0), observed.as<std::uint32_t>(), stream.native());
  check_launch("block_amax");
  observed.read(maxima.data(), maxima.size_bytes());
}

void dequantize(Stream& stream, const QuantizedTensor& q, Tensor& into) {
  TESSERA_ASSERT(q.format.is_scaled());
  const OnDevice on(stream.device().index);
  const DequantizeBlocksLaunch launch = find_dequantize_blocks(q.format);
  const bool is_plain = launch != nullptr && into.dtype() == DType::kBf16 && q.segment_ends.size() <= 1 &&
                        q.extent.cols % q.format.block.cols == 0 && is_aligned(q.codes) && is_aligned(into);
  if (is_plain) {
    launch({.codes = q.codes.data(),
            .scales = q.scales.data(),
            .global = q.global.as<float>(),
            .into = into.data(),
            .chunks = q.extent.count() / kChunkOfCodes,
            .sense = q.sense,
            .reads_minus_zero = q.reads_minus_zero},
           stream.native());
  } else {
    queue_generic_dequantize(stream, q, into);
  }
  check_launch("dequantize");
}

std::span<const QuantizeVariant> quantize_variants() { return kVariants; }

std::string_view chosen_variant(const Stream& stream, const QuantizeJob& job) {
  return choose(stream, job).variant.name;
}

}  // namespace tessera::cuda
