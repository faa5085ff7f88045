#include "tessera/kernels/quantize.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/kernels/cpu/quantize.h"
#include "tessera/kernels/cuda/quantize.h"
#include "tessera/kernels/quantize_job.h"
#include "tessera/kernels/reference/quantize.h"

namespace tessera {
namespace {

bool on_cpu(const Stream& s) { return s.device().is_cpu(); }
bool has_avx512(const Stream& s) { return on_cpu(s) && s.cpu_tier() >= CpuTier::kAvx512; }
bool has_avx2(const Stream& s) { return on_cpu(s) && s.cpu_tier() >= CpuTier::kAvx2; }
bool on_cuda(const Stream& s) { return !on_cpu(s); }

// Most special first, the reference last. All of them give the same bits.
constexpr QuantizeImpl kImpls[] = {
    {"cuda", [](const Stream&, const QuantizeJob&) { return true; }, &cuda::quantize, &cuda::amax, &cuda::block_amax,
     &cuda::dequantize, &on_cuda},
    {"avx512", &cpu::fits_lanes, &cpu::quantize_avx512, &cpu::amax_avx512, &cpu::block_amax_avx512,
     &cpu::dequantize_avx512, &has_avx512},
    {"avx2", &cpu::fits_lanes, &cpu::quantize_avx2, &cpu::amax_avx2, &cpu::block_amax_avx2, &cpu::dequantize_avx2,
     &has_avx2},
    {"reference", [](const Stream&, const QuantizeJob&) { return true; }, &reference::quantize, &reference::amax,
     &reference::block_amax, &reference::dequantize, &on_cpu},
};

const QuantizeImpl& implementation(const Stream& stream) {
  for (const QuantizeImpl& impl : kImpls)
    if (impl.here(stream)) return impl;
  fail(Errc::kUnsupported, "no kernel quantizes on {}", device_name(stream.device()));
}

void require_source(const Stream& stream, const Tensor& x) {
  const DType t = x.dtype();
  require(t == DType::kF32 || t == DType::kBf16 || t == DType::kF16, Errc::kUnsupported,
          "quantize: x is {}; F32, BF16 and F16 can be quantized", dtype_name(t));
  require(x.shape().size() >= 1, Errc::kShape, "quantize: x is a scalar; a matrix [rows, cols] is wanted");
  require(x.device() == stream.device(), Errc::kInvalid, "quantize: x is on {}, the stream on {}",
          device_name(x.device()), device_name(stream.device()));
}

Extent whole_of(const Tensor& x, const QuantizeContext& where) {
  return where.whole == Extent{} && where.row == 0 && where.col == 0 ? x.extent() : where.whole;
}

const Writer& writer_of(const OperandSpec& spec) {
  const Writer& writer = spec.writer != nullptr ? *spec.writer : find_writer("nearest");
  if (!writer.supports(spec.format)) {
    std::string able;
    for (const Writer* w : all_writers())
      if (w->supports(spec.format)) able.append(able.empty() ? "" : ", ").append(w->name);
    fail(Errc::kUnsupported, "writer '{}' does not write {}; {}", writer.name, format_label(spec.format),
         able.empty() ? "it is dense: nothing quantizes it" : "those that do: " + able);
  }
  return writer;
}

// A piece must end on blocks, unless its blocks' maxima were agreed; then it must still start and end on whole bytes.
void require_cut(const Format& format, Extent piece, Extent whole, const QuantizeContext& where, const Writer& writer) {
  require(
      where.row >= 0 && where.col >= 0 && where.row + piece.rows <= whole.rows && where.col + piece.cols <= whole.cols,
      Errc::kShape, "quantize: a piece {} x {} at row {}, column {} leaves the whole {} x {}", piece.rows, piece.cols,
      where.row, where.col, whole.rows, whole.cols);
  const auto whole_cut = [](std::int64_t begin, std::int64_t length, std::int64_t all, std::int64_t step) {
    return begin % step == 0 && ((begin + length) % step == 0 || begin + length == all);
  };
  const Extent g = granule(format, whole);
  const bool granules =
      whole_cut(where.row, piece.rows, whole.rows, g.rows) && whole_cut(where.col, piece.cols, whole.cols, g.cols);
  if (granules) return;
  require(writer.max_rule, Errc::kUnsupported,
          "quantize: writer '{}' searches within whole blocks; cut the {} matrix in pieces of {} x {}", writer.name,
          format_label(format), g.rows, g.cols);
  require(
      whole_cut(where.col, piece.cols, whole.cols, codes_of_whole_bytes(format.element)), Errc::kShape,
      "quantize: a piece {} x {} at row {}, column {} does not start and end on whole bytes, which hold {} codes of "
      "{}",
      piece.rows, piece.cols, where.row, where.col, codes_of_whole_bytes(format.element), format_label(format));
  require(
      where.maxima.has_value() && !where.maxima->blocks.empty(), Errc::kShape,
      "quantize: a piece {} x {} at row {}, column {} does not end on blocks of {} x {} ({}), and brings no maxima of "
      "its blocks",
      piece.rows, piece.cols, where.row, where.col, g.rows, g.cols, format_label(format));
}

[[noreturn]] void refuse_value(const Tensor& x, const Writer& writer) {
  Stream stream(kCpu, 1);
  const Tensor host = x.device().is_cpu() ? x : copy(stream, x, kCpu);
  const std::int64_t cols = std::max<std::int64_t>(1, x.extent().cols);
  std::int64_t i = 0;
  while (i + 1 < host.count() && is_finite(element_as_float(host, i))) ++i;
  fail(Errc::kInvalid, "quantize: x[{}, {}] is {}; writer '{}' takes finite numbers only", i / cols, i % cols,
       host.count() > 0 ? element_as_float(host, i) : 0.f, writer.name);
}

}  // namespace

std::span<const QuantizeImpl> quantize_impls() { return kImpls; }

BlockGrid block_grid(const Format& format, Extent piece, const QuantizeContext& where) {
  const Extent whole = where.whole == Extent{} && where.row == 0 && where.col == 0 ? piece : where.whole;
  BlockGrid grid{.block = block_in(format, whole), .row = where.row, .col = where.col};
  grid.first_row = where.row / grid.block.rows;
  grid.first_col = where.col / grid.block.cols;
  if (piece.count() == 0) return grid;
  grid.blocks.rows = ceil_div(where.row + piece.rows, grid.block.rows) - grid.first_row;
  grid.blocks.cols = ceil_div(where.col + piece.cols, grid.block.cols) - grid.first_col;
  return grid;
}

float larger_maximum(float a, float b) {
  const float x = magnitude(a), y = magnitude(b);
  return std::bit_cast<std::uint32_t>(x) >= std::bit_cast<std::uint32_t>(y) ? x : y;
}

Maxima larger_maxima(const Maxima& a, const Maxima& b) {
  require(a.blocks.size() == b.blocks.size(), Errc::kShape, "maxima of {} blocks and of {}", a.blocks.size(),
          b.blocks.size());
  Maxima result{larger_maximum(a.tensor, b.tensor), a.blocks};
  for (std::size_t i = 0; i < result.blocks.size(); ++i)
    result.blocks[i] = larger_maximum(result.blocks[i], b.blocks[i]);
  return result;
}

Maxima observe(Stream& stream, const Tensor& x) {
  require_source(stream, x);
  return {.tensor = x.count() == 0 ? 0.f : implementation(stream).amax(stream, x)};
}

Maxima observe(Stream& stream, const Tensor& x, const Format& format, const QuantizeContext& where) {
  Maxima result = observe(stream, x);
  if (format.is_dense()) return result;
  const BlockGrid grid = block_grid(format, x.extent(), where);
  result.blocks.resize(static_cast<std::size_t>(grid.blocks.count()));
  if (!result.blocks.empty()) implementation(stream).block_amax(stream, x, grid, result.blocks);
  return result;
}

QuantizedTensor quantize(Stream& stream, const Tensor& x, const OperandSpec& spec, const QuantizeContext& where) {
  require_source(stream, x);
  const Writer& writer = writer_of(spec);
  const Extent piece = x.extent(), whole = whole_of(x, where);
  require_cut(spec.format, piece, whole, where, writer);
  require(where.maxima.has_value() || !spec.format.has_global || piece == whole, Errc::kInvalid,
          "quantize: a piece of a {} matrix needs the maximum of the whole: agree on it first",
          format_label(spec.format));
  const Block block = block_in(spec.format, whole);
  require(!writer.whole_blocks_only || (whole.rows % block.rows == 0 && whole.cols % block.cols == 0),
          Errc::kUnsupported,
          "quantize: writer '{}' takes whole blocks of {} x {} only, and {} x {} does not divide into them",
          writer.name, block.rows, block.cols, whole.rows, whole.cols);
  const QuantizeImpl& impl = implementation(stream);
  QuantizedTensor out = empty_quantized(spec.format, piece, x.device());
  out.sense = writer.sense;
  const BlockGrid grid = block_grid(spec.format, piece, where);
  if (piece.count() > 0)  // a piece may touch more blocks than it would have alone
    out.scales = Tensor(out.scales.dtype(), {grid.blocks.rows, grid.blocks.cols}, x.device());
  float amax = where.maxima ? where.maxima->tensor : 0;
  if (!where.maxima && spec.format.has_global) amax = x.count() == 0 ? 0.f : impl.amax(stream, x);
  if (!is_finite(amax) && writer.refuses_non_finite(spec.format)) refuse_value(x, writer);
  const float global = writer.global(spec.format, amax, x.dtype());
  if (spec.format.has_global) out.global = scalar(global, x.device()).reshaped({1});
  if (piece.count() == 0) return out;
  const std::span<const float> agreed =
      where.maxima ? std::span<const float>(where.maxima->blocks) : std::span<const float>{};
  require(agreed.empty() || agreed.size() == static_cast<std::size_t>(grid.blocks.count()), Errc::kShape,
          "quantize: {} block maxima for {} blocks", agreed.size(), grid.blocks.count());
  // One block for the whole tensor: its maximum is the tensor's.
  const float one[] = {amax};
  const bool single = where.maxima && agreed.empty() && spec.format.block == Block{0, 0};
  const QuantizeJob job{.x = x,
                        .extent = piece,
                        .whole = whole,
                        .writer = writer,
                        .encode = writer.encode(spec.format, x.dtype()),
                        .grid = grid,
                        .tensor_amax = amax,
                        .global = global,
                        .agreed = single ? std::span<const float>(one) : agreed,
                        .key = where.key,
                        .scales_given = false,
                        .out = out};
  const QuantizeImpl* chosen = &impl;
  while (!chosen->fits(stream, job)) ++chosen;  // the reference, last, fits everything
  const std::int64_t not_finite = chosen->run(stream, job);
  if (not_finite >= 0 && writer.refuses_non_finite(spec.format)) refuse_value(x, writer);
  return out;
}

QuantizedTensor encode_like(Stream& stream, const Tensor& x, const OperandSpec& spec, const QuantizedTensor& like,
                            const QuantizeContext& where) {
  require_source(stream, x);
  validate(like);
  const Writer& writer = writer_of(spec);
  require(x.extent() == like.extent && spec.format == like.format, Errc::kShape,
          "encode_like: x is {} x {}, {}; the scales are of {} x {}, {}", x.extent().rows, x.extent().cols,
          format_label(spec.format), like.extent.rows, like.extent.cols, format_label(like.format));
  QuantizedTensor out = like;
  out.codes = Tensor(DType::kU8, like.codes.shape(), x.device());
  if (x.count() == 0) return out;
  // A segment of rows has a global of its own: each is a job.
  std::vector<std::int64_t> ends = like.segment_ends.empty() ? std::vector{like.extent.rows} : like.segment_ends;
  const Tensor globals = like.global.device().is_cpu() ? like.global : copy(stream, like.global, kCpu);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    QuantizedTensor part = slice_rows(out, begin, ends[i]);
    const Tensor rows = x.reshaped({x.extent().rows, x.extent().cols}).slice(begin, ends[i]);
    QuantizeContext at{.whole = x.extent(), .row = begin, .key = where.key};
    const QuantizeJob job{.x = rows,
                          .extent = rows.extent(),
                          .whole = x.extent(),
                          .writer = writer,
                          .encode = writer.encode(spec.format, x.dtype()),
                          .grid = block_grid(spec.format, rows.extent(), at),
                          .tensor_amax = 0,
                          .global = like.format.has_global ? globals.as<float>()[i] : 1.f,
                          .agreed = {},
                          .key = where.key,
                          .scales_given = true,
                          .out = part};
    const QuantizeImpl* chosen = &implementation(stream);
    while (!chosen->fits(stream, job)) ++chosen;
    if (rows.count() > 0) chosen->run(stream, job);
    begin = ends[i];
  }
  return out;
}

void dequantize_into(Stream& stream, const QuantizedTensor& q, Tensor& into) {
  validate(q);
  const DType t = into.dtype();
  require(t == DType::kF32 || t == DType::kBf16 || t == DType::kF16, Errc::kUnsupported,
          "dequantize: to {}; F32, BF16 and F16 can be written", dtype_name(t));
  require(into.extent() == q.extent && into.device() == stream.device() && q.codes.device() == stream.device(),
          Errc::kShape, "dequantize: {} x {} on {} into {} on {}", q.extent.rows, q.extent.cols,
          device_name(q.codes.device()), shape_text(into.shape()), device_name(into.device()));
  if (q.extent.count() > 0) implementation(stream).dequantize(stream, q, into);
}

Tensor dequantize(Stream& stream, const QuantizedTensor& q, DType to) {
  Tensor into(to, {q.extent.rows, q.extent.cols}, stream.device());
  dequantize_into(stream, q, into);
  return into;
}

}  // namespace tessera
