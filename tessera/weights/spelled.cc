#include "tessera/weights/spelled.h"

#include <array>
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/io/module_names.h"

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

// Scales of small floats stand as bytes; f32 ones in the dtype they had, or else in F32. A power of two is exact in
// any.
DType scale_dtype_of(const Spelling& s, const Format& format, DType stored) {
  const DType first = *find_dtype(words_of(s.scales_dtypes).front());
  if (format.scale == kE8M23) return lists(s.scales_dtypes, stored) ? stored : DType::kF32;
  if (format.scale != kE8M0) return first;
  for (const DType byte : {DType::kU8, DType::kF8E8M0})
    if (lists(s.scales_dtypes, byte)) return byte;
  return DType::kF32;
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

std::int64_t Spelled::row_granule() const {
  const std::int64_t block = format.block.rows == 0 ? 1 : block_in(format, extent).rows;
  return scales.order == GridOrder::kTiles ? round_up(128, block) : block;
}

std::optional<Spelled> spell(const Dialect& dialect, const std::string& module, const Format& format, Extent extent,
                             DType stored_scale, std::int64_t experts) {
  const Spelling* s = format.is_scaled() ? find_spelling(dialect, format) : nullptr;
  const std::optional<BankPlace> place = s != nullptr && s->glued ? bank_place(module) : std::nullopt;
  if (s == nullptr || (s->glued && (!place || experts == 0))) return {};
  Spelled p{module, s, format, extent, scale_dtype_of(*s, format, stored_scale)};
  const Extent padded{round_up(extent.rows, s->padding.rows), round_up(extent.cols, s->padding.cols)};
  const Extent grid = scale_extent(format, padded);
  p.codes.stored = {padded.rows, row_bytes(format, padded.cols)};
  p.scales = {.order = s->scale_order, .stored = grid};
  if (s->scale_order == GridOrder::kTiles)
    p.scales.stored = {round_up(grid.rows, 128), round_up(grid.cols, s->scale_padding)};
  if (!place) return p;
  p.module = place->bank;
  p.experts = experts;
  p.part = place->part;
  for (Grid* g : {&p.codes, &p.scales}) {  // gate and up in every second row, as gpt-oss has them
    g->stored.rows *= place->parts;
    g->origin = place->expert * g->stored.count();
    g->first_row = place->part;
    g->row_step = place->parts;
  }
  return p;
}

std::int64_t experts_of(const Checkpoint& in, const Module& m) {
  if (!m.bank.empty()) return m.reading.experts;
  const std::optional<ExpertName> name = expert_name(m.name);
  if (!name) return 0;
  std::int64_t count = 0;
  while (in.find(fmt::format("{}.{}.{}", name->bank, count, name->part)) != nullptr) ++count;
  return name->index < count ? count : 0;
}

std::uint64_t stored_bytes(const Spelled& p) {
  return static_cast<std::uint64_t>(code_bytes(p.format, p.extent) +
                                    scale_extent(p.format, p.extent).count() * (dtype_bits(p.scale_dtype) / 8) +
                                    (p.format.has_global ? 4 : 0));
}

std::vector<PlannedTensor> planned_tensors(const Spelled& p) {
  if (!p.plans_tensors()) return {};
  const Spelling& s = *p.spelling;
  const DType codes = *find_dtype(words_of(s.codes_dtypes).front());
  Shape shape{p.codes.stored.rows, p.codes.stored.cols * 8 / dtype_bits(codes)};
  Shape scale_shape = p.scales.order == GridOrder::kTiles || p.experts > 0
                          ? Shape{p.scales.stored.rows, p.scales.stored.cols}
                          : scale_shape_of(s, scale_extent(p.format, p.extent));
  if (s.flat_tiles && p.scales.order == GridOrder::kTiles)
    scale_shape = {p.scales.stored.rows / 4, p.scales.stored.cols * 4};
  if (s.blocks_axis) {
    shape.back() /= p.format.block.cols / 2;
    shape.push_back(p.format.block.cols / 2);
  }
  if (p.experts > 0) {
    shape.insert(shape.begin(), p.experts);
    scale_shape.insert(scale_shape.begin(), p.experts);
  }
  std::vector<PlannedTensor> plan{{p.codes_name(), codes, shape, p.module},
                                  {p.scales_name(), p.scale_dtype, scale_shape, p.module}};
  if (p.format.has_global && !s.global.empty())
    plan.push_back({p.global_name(), DType::kF32, one_shape_of(s), p.module});
  if (p.has_activation) plan.push_back({p.activation_name(), p.activation_dtype, one_shape_of(s), p.module});
  if (s.note != nullptr) {
    const std::string note = s.note(p.format, p.extent);
    plan.push_back({p.note_name(), DType::kU8, {static_cast<std::int64_t>(note.size())}, p.module});
  }
  return plan;
}

namespace {

// Rows [first, first + part.rows) of a grid into their tensor, with the padding that follows them.
void write_grid(ShardedWriter& writer, const std::string& name, const Grid& g, std::size_t unit, Extent part,
                std::int64_t first, bool last, std::span<const std::byte> rows) {
  const auto at = [&](std::int64_t index) { return static_cast<std::uint64_t>(index) * unit; };
  if (g.order == GridOrder::kRows && g.row_step == 1 && part.cols == g.stored.cols &&
      (!last || first + part.rows == g.stored.rows))
    return writer.write(name, at(g.index(first, 0)), rows);
  if (g.order == GridOrder::kRows && g.row_step > 1) {  // every row on its own: others' rows are between them
    for (std::int64_t r = 0; r < part.rows; ++r)
      writer.write(name, at(g.index(first + r, 0)), rows.subspan(at(r * part.cols), at(part.cols)));
    return;
  }
  UnitRange range = units_of(g, part, first);
  range.begin = g.order == GridOrder::kRows ? g.index(first, 0) : range.begin;
  range.end = last                          ? g.origin + g.stored.count()
              : g.order == GridOrder::kRows ? g.index(first + part.rows, 0)
                                            : range.end;
  std::vector<std::byte> stored(static_cast<std::size_t>(range.end - range.begin) * unit);
  put_grid(rows, g, unit, part, first, stored, range);
  writer.write(name, at(range.begin), stored);
}

// Block scales as they stand on disk.
std::vector<std::byte> stored_scales(const Spelled& p, const QuantizedTensor& q) {
  const std::size_t width = static_cast<std::size_t>(dtype_bits(p.scale_dtype)) / 8;
  std::vector<std::byte> bytes(static_cast<std::size_t>(q.scales.count()) * width);
  if (width == 1 || (p.scale_dtype == DType::kF32 && q.scales.dtype() == DType::kF32)) {
    std::memcpy(bytes.data(), q.scales.span().data(), bytes.size());
    return bytes;
  }
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
  return bytes;
}

void write_number(ShardedWriter& writer, const std::string& name, DType dtype, float value) {
  if (dtype == DType::kF32) return writer.write(name, 0, std::as_bytes(std::span(&value, 1)));
  const std::uint16_t half = bits16(dtype, value);
  writer.write(name, 0, std::as_bytes(std::span(&half, 1)));
}

}  // namespace

void write_rows(ShardedWriter& writer, const Spelled& p, const QuantizedTensor& q, std::int64_t begin) {
  TESSERA_ASSERT(begin % p.row_granule() == 0);
  const bool last = begin + q.extent.rows == p.extent.rows;
  const Extent part{q.extent.rows, row_bytes(p.format, p.extent.cols)};
  if (p.spelling->high_nibble_first) {
    std::vector<std::byte> swapped(q.codes.span().begin(), q.codes.span().end());
    for (std::byte& b : swapped) b = (b << 4) | (b >> 4);
    write_grid(writer, p.codes_name(), p.codes, 1, part, begin, last, swapped);
  } else {
    write_grid(writer, p.codes_name(), p.codes, 1, part, begin, last, q.codes.span());
  }
  if (p.format.block.rows != 0 || begin == 0) {
    const Extent grid = scale_extent(q.format, q.extent);
    const std::int64_t first = p.format.block.rows == 0 ? 0 : begin / block_in(p.format, p.extent).rows;
    write_grid(writer, p.scales_name(), p.scales, static_cast<std::size_t>(dtype_bits(p.scale_dtype)) / 8, grid, first,
               last || p.format.block.rows == 0, stored_scales(p, q));
  }
  if (begin != 0 || p.spelling->note == nullptr) return;
  const std::string note = p.spelling->note(p.format, p.extent);
  writer.write(p.note_name(), 0, std::as_bytes(std::span(note)));
}

void write_global(ShardedWriter& writer, const Spelled& p, float global) {
  writer.write(p.global_name(), 0, std::as_bytes(std::span(&global, 1)));
}
void write_activation(ShardedWriter& writer, const Spelled& p, float scale) {
  write_number(writer, p.activation_name(), p.activation_dtype, scale);
}
void write_scale_of_no_rows(ShardedWriter& writer, const Spelled& p, float scale) {
  if (p.extent.rows == 0 && p.format.block.rows == 0) write_number(writer, p.scales_name(), p.scale_dtype, scale);
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
