#include "tessera/weights/spelled.h"

#include <array>
#include <cstring>

#include "tessera/base/error.h"

namespace tessera {
namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    words.push_back(text.substr(0, space));
    text = space == std::string_view::npos ? "" : text.substr(space + 1);
  }
  return words;
}

bool lists(std::string_view text, DType dtype) {
  for (const std::string_view word : words_of(text))
    if (word == dtype_name(dtype)) return true;
  return false;
}

// E4M3 and E8M0 scales stand as bytes; f32 ones in the dtype they had, or else in F32. A power of two is exact in any.
DType scale_dtype_of(const Spelling& s, const Format& format, DType stored) {
  const DType first = *find_dtype(words_of(s.scales_dtypes).front());
  if (format.scale == kE4M3) return first;
  if (format.scale == kE8M0) {
    for (const DType byte : {DType::kU8, DType::kF8E8M0})
      if (lists(s.scales_dtypes, byte)) return byte;
    return DType::kF32;
  }
  return lists(s.scales_dtypes, stored) ? stored : DType::kF32;
}

Shape scale_shape_of(const Spelling& s, Extent grid) {
  switch (s.scale_shape) {
    case ScaleShape::kScalar:
      return {};
    case ScaleShape::kOne:
      return {1};
    case ScaleShape::kVector:
      return {grid.rows};
    case ScaleShape::kSpacedGrid:  // its exporter squeezes a single block to a scalar
      return grid.count() == 1 ? Shape{} : Shape{grid.rows, 1, grid.cols, 1};
    case ScaleShape::kGrid:
      break;
  }
  return {grid.rows, grid.cols};
}

Shape one_shape_of(const Spelling& s) { return s.one_shape == ScaleShape::kOne ? Shape{1} : Shape{}; }

}  // namespace

std::optional<Spelled> spell(const Dialect& dialect, std::string module, const Format& format, Extent extent,
                             DType stored_scale) {
  const Spelling* s = format.is_scaled() ? find_spelling(dialect, format) : nullptr;
  if (s == nullptr) return {};
  return Spelled{std::move(module), s, format, extent, scale_dtype_of(*s, format, stored_scale)};
}

std::vector<PlannedTensor> planned_tensors(const Spelled& p) {
  const Spelling& s = *p.spelling;
  const DType codes = *find_dtype(words_of(s.codes_dtypes).front());
  const std::int64_t width = dtype_bits(codes) == 8 ? row_bytes(p.format, p.extent.cols) : p.extent.cols;
  std::vector<PlannedTensor> plan{
      {p.codes_name(), codes, {p.extent.rows, width}, p.module},
      {p.scales_name(), p.scale_dtype, scale_shape_of(s, scale_extent(p.format, p.extent)), p.module}};
  if (p.format.has_global) plan.push_back({p.global_name(), DType::kF32, one_shape_of(s), p.module});
  if (p.has_activation) plan.push_back({p.activation_name(), p.activation_dtype, one_shape_of(s), p.module});
  return plan;
}

void write_rows(ShardedWriter& writer, const Spelled& p, const QuantizedTensor& q, std::int64_t begin) {
  const Block block = block_in(p.format, p.extent);
  TESSERA_ASSERT(begin % block.rows == 0);
  writer.write(p.codes_name(), static_cast<std::uint64_t>(begin * row_bytes(p.format, p.extent.cols)), q.codes.span());
  const std::int64_t scale_row = begin / block.rows, cols = scale_extent(p.format, p.extent).cols;
  const std::size_t width = static_cast<std::size_t>(dtype_bits(p.scale_dtype)) / 8;
  const std::uint64_t at = static_cast<std::uint64_t>(scale_row * cols) * width;
  if (width == 1 || (p.scale_dtype == DType::kF32 && q.scales.dtype() == DType::kF32)) {
    writer.write(p.scales_name(), at, q.scales.span());
    return;
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(q.scales.count()) * width);
  for (std::int64_t i = 0; i < q.scales.count(); ++i) {
    const float value = q.scales.dtype() == DType::kF32 ? q.scales.as<float>()[i]
                                                        : decode(p.format.scale, q.scales.as<std::uint8_t>()[i]);
    const std::size_t to = static_cast<std::size_t>(i) * width;
    if (width == 4) {
      std::memcpy(&bytes[to], &value, 4);
    } else {
      const std::uint16_t half = bits16(p.scale_dtype, value);
      std::memcpy(&bytes[to], &half, 2);
    }
  }
  writer.write(p.scales_name(), at, bytes);
}

void write_global(ShardedWriter& writer, const Spelled& p, float global) {
  writer.write(p.global_name(), 0, std::as_bytes(std::span(&global, 1)));
}
void write_activation(ShardedWriter& writer, const Spelled& p, float scale) {
  if (p.activation_dtype == DType::kF32)
    return writer.write(p.activation_name(), 0, std::as_bytes(std::span(&scale, 1)));
  const std::uint16_t half = bits16(p.activation_dtype, scale);
  writer.write(p.activation_name(), 0, std::as_bytes(std::span(&half, 1)));
}

DType exact_dtype(std::string_view dtypes, std::span<const float> values) {
  for (const std::string_view word : words_of(dtypes)) {
    const DType dtype = *find_dtype(word);
    if (dtype != DType::kF32 && dtype != DType::kBf16 && dtype != DType::kF16) continue;
    bool exact = true;
    for (const float v : values) exact = exact && round_to(dtype, v) == v;
    if (exact) return dtype;
  }
  return DType::kF32;
}

const Format* nearest_format(const Dialect& dialect, const Format& format) {
  // The same element first, then the same kind of scale, then the closest number of elements to a scale.
  const auto size_of = [](const Format& f) {
    return f.block.cols == 0 || f.block.rows == 0 ? 1e9 : static_cast<double>(f.block.cols * f.block.rows);
  };
  const Format* best = nullptr;
  std::array<double, 3> least{};
  for (const Format* candidate : all_formats()) {
    if (candidate->is_dense() || find_spelling(dialect, *candidate) == nullptr) continue;
    const double ratio = size_of(*candidate) / size_of(format);
    const std::array<double, 3> distance{candidate->element == format.element ? 0. : 1.,
                                         candidate->scale == format.scale ? 0. : 1., ratio > 1 ? ratio : 1 / ratio};
    if (best == nullptr || distance < least) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

}  // namespace tessera
