#include "tessera/tensor/quantized_tensor.h"

#include "tessera/base/error.h"

namespace tessera {

QuantizedTensor empty_quantized(const Format& format, Extent extent, Device device) {
  const Extent grid = scale_extent(format, extent);
  QuantizedTensor q{.format = format, .extent = extent};
  q.codes = Tensor(DType::kU8, {extent.rows, row_bytes(format, extent.cols)}, device);
  q.scales = Tensor(format.scale == kE8M23 ? DType::kF32 : DType::kU8, {grid.rows, grid.cols}, device);
  q.global = Tensor(DType::kF32, {format.has_global ? 1 : 0}, device);
  return q;
}

QuantizedTensor slice_rows(const QuantizedTensor& q, std::int64_t begin, std::int64_t end) {
  const Block block = block_in(q.format, q.extent);
  const bool fits = 0 <= begin && begin <= end && end <= q.extent.rows && begin % block.rows == 0 &&
                    (end % block.rows == 0 || end == q.extent.rows);
  require(fits, Errc::kShape, "rows {} to {} of {} do not end on blocks of {} rows", begin, end, q.extent.rows,
          block.rows);
  QuantizedTensor part = q;
  part.extent.rows = end - begin;
  part.codes = q.codes.slice(begin, end);
  part.scales = q.scales.slice(begin / block.rows, ceil_div(end, block.rows));
  part.segment_ends.clear();
  if (q.segment_ends.empty()) return part;
  std::int64_t first = 0, last = 0, start = 0;
  for (std::size_t i = 0; i < q.segment_ends.size(); ++i) {
    const std::int64_t stop = q.segment_ends[i];
    if (stop <= begin) first = static_cast<std::int64_t>(i) + 1;
    if (start < end) last = static_cast<std::int64_t>(i) + 1;
    if (stop > begin && start < end) part.segment_ends.push_back(std::min(stop, end) - begin);
    start = stop;
  }
  if (part.segment_ends.empty()) first = 0, last = 1;  // no rows: any global will do
  part.global = q.global.slice(first, last);
  return part;
}

QuantizedTensor copy(Stream& stream, const QuantizedTensor& q, Device to) {
  QuantizedTensor result = q;
  result.visit([&](const char*, Tensor& part) { part = copy(stream, part, to); });
  return result;
}

void validate(const QuantizedTensor& q) {
  require(q.format.is_scaled(), Errc::kInvalid, "a quantized matrix of the dense format {}", format_label(q.format));
  require(q.extent.rows >= 0 && q.extent.cols >= 0, Errc::kShape, "a matrix of {} x {}", q.extent.rows, q.extent.cols);
  const auto check = [&](const char* part, const Tensor& t, DType dtype, const Shape& shape) {
    require(t.dtype() == dtype && t.shape() == shape, Errc::kShape, "{} of a {} matrix {} x {}: {} {}, wanted {} {}",
            part, format_label(q.format), q.extent.rows, q.extent.cols, dtype_name(t.dtype()), shape_text(t.shape()),
            dtype_name(dtype), shape_text(shape));
  };
  const Extent grid = scale_extent(q.format, q.extent);
  const std::int64_t segments = q.segment_ends.empty() ? 1 : static_cast<std::int64_t>(q.segment_ends.size());
  check("codes", q.codes, DType::kU8, {q.extent.rows, row_bytes(q.format, q.extent.cols)});
  check("scales", q.scales, q.format.scale == kE8M23 ? DType::kF32 : DType::kU8, {grid.rows, grid.cols});
  check("global", q.global, DType::kF32, {q.format.has_global ? segments : 0});
  std::int64_t previous = 0;
  for (const std::int64_t end : q.segment_ends) {
    require(end >= previous && end <= q.extent.rows, Errc::kInvalid, "segments end at {} after {} of {} rows", end,
            previous, q.extent.rows);
    previous = end;
  }
  require(q.segment_ends.empty() || previous == q.extent.rows, Errc::kInvalid, "segments end at {} of {} rows",
          previous, q.extent.rows);
}

}  // namespace tessera
