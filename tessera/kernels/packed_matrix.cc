#include "tessera/kernels/packed_matrix.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"
#include "tessera/numeric/lanes.h"

namespace tessera {
namespace {

// Where the code of row r (of a panel) and column k (of a step) stands in the step.
struct Spot {
  std::int64_t byte = 0;
  int shift = 0;  // of the low bit of a 4-bit code
};
Spot spot_of(int code_bits, std::int64_t r, std::int64_t k) {
  const std::int64_t pair = k / 2, odd = k % 2;
  if (code_bits == 4) {
    const std::int64_t p = pair % 8;
    return {k / 16 * 128 + p / 4 * 64 + (2 * r + odd) * 2 + p % 4 / 2, p % 2 == 0 ? 0 : 4};
  }
  if (code_bits == 8) return {k / 4 * 64 + r / 4 * 16 + pair % 2 * 8 + r % 4 * 2 + odd};
  if (code_bits == 16) return {pair * 64 + (2 * r + odd) * 2};
  return {pair * 128 + (odd * 16 + r) * 4};
}

std::uint8_t* step_at(const PackedMatrix& w, std::int64_t panel, std::int64_t step) {
  return w.panels.as<std::uint8_t>() + panel * w.panel_bytes() + step * w.step_bytes();
}

// The codes that a row puts into a panel at once: as few as make whole words there. For loops over all of them;
// spot_of() says the same of one.
template <int kBits>
struct Unit {
  static constexpr std::int64_t kCols = kBits == 4 ? 16 : kBits == 8 ? 4 : 2;
  static constexpr std::int64_t kBytes = kCols * kBits / 8;                   // of the row
  static constexpr std::int64_t kPanelBytes = PackedMatrix::kPanel * kBytes;  // of the panel
  static constexpr std::int64_t kApart = kBits == 8 ? 8 : kPanelBytes / 2;    // its first half and its second
  static constexpr std::int64_t kHalf = kBits == 8 ? 2 : 4;                   // bytes; of 16 bits the only one
  static constexpr bool kOneWord = kBits == 16;
  static std::int64_t spot(std::int64_t r) { return kBits == 8 ? r / 4 * 16 + r % 4 * 2 : r * 4; }
};

// Low nibbles of each four bytes, then their high nibbles; and back.
std::uint64_t part_nibbles(std::uint64_t x) {
  const auto together = [](std::uint64_t low) {
    low = (low | low >> 4) & 0x00ff00ff00ff00ff;
    return (low | low >> 8) & 0x0000ffff0000ffff;
  };
  return together(x & 0x0f0f0f0f0f0f0f0f) | together(x >> 4 & 0x0f0f0f0f0f0f0f0f) << 16;
}
std::uint64_t join_nibbles(std::uint64_t x) {
  const auto apart = [](std::uint64_t low) {
    low = (low | low << 8) & 0x00ff00ff00ff00ff;
    return (low | low << 4) & 0x0f0f0f0f0f0f0f0f;
  };
  return apart(x & 0x0000ffff0000ffff) | apart(x >> 16 & 0x0000ffff0000ffff) << 4;
}

template <int kBits>
void put_unit(std::uint8_t* panel, std::int64_t r, const std::uint8_t* from) {
  using U = Unit<kBits>;
  std::uint8_t* to = panel + U::spot(r);
  if constexpr (kBits == 4) {
    std::uint64_t codes = 0;
    std::memcpy(&codes, from, sizeof codes);
    codes = part_nibbles(codes);
    const auto low = static_cast<std::uint32_t>(codes), high = static_cast<std::uint32_t>(codes >> 32);
    std::memcpy(to, &low, sizeof low);
    std::memcpy(to + U::kApart, &high, sizeof high);
  } else {
    std::memcpy(to, from, U::kHalf);
    if constexpr (!U::kOneWord) std::memcpy(to + U::kApart, from + U::kHalf, U::kHalf);
  }
}
template <int kBits>
void take_unit(const std::uint8_t* panel, std::int64_t r, std::uint8_t* to) {
  using U = Unit<kBits>;
  const std::uint8_t* from = panel + U::spot(r);
  if constexpr (kBits == 4) {
    std::uint32_t low = 0, high = 0;
    std::memcpy(&low, from, sizeof low);
    std::memcpy(&high, from + U::kApart, sizeof high);
    const std::uint64_t codes = join_nibbles(low | std::uint64_t{high} << 32);
    std::memcpy(to, &codes, sizeof codes);
  } else {
    std::memcpy(to, from, U::kHalf);
    if constexpr (!U::kOneWord) std::memcpy(to + U::kHalf, from + U::kApart, U::kHalf);
  }
}

// Codes of `count` columns of one row, into a step of its panel, and back.
template <int kBits>
void put_codes(std::uint8_t* step, std::int64_t r, const std::uint8_t* from, std::int64_t count) {
  using U = Unit<kBits>;
  for (; count >= U::kCols; count -= U::kCols, step += U::kPanelBytes, from += U::kBytes)
    put_unit<kBits>(step, r, from);
  if (count == 0) return;
  std::uint8_t rest[U::kBytes] = {};
  std::memcpy(rest, from, static_cast<std::size_t>(ceil_div(count * kBits, 8)));
  if (kBits == 4 && count % 2 != 0) rest[count / 2] &= 15;
  put_unit<kBits>(step, r, rest);
}
template <int kBits>
void take_codes(const std::uint8_t* step, std::int64_t r, std::uint8_t* to, std::int64_t count) {
  using U = Unit<kBits>;
  for (; count >= U::kCols; count -= U::kCols, step += U::kPanelBytes, to += U::kBytes) take_unit<kBits>(step, r, to);
  if (count == 0) return;
  std::uint8_t rest[U::kBytes];
  take_unit<kBits>(step, r, rest);
  std::memcpy(to, rest, static_cast<std::size_t>(ceil_div(count * kBits, 8)));
}

template <class Body>
void with_bits(int code_bits, const Body& body) {
  if (code_bits == 4) return body(std::integral_constant<int, 4>{});
  if (code_bits == 8) return body(std::integral_constant<int, 8>{});
  if (code_bits == 16) return body(std::integral_constant<int, 16>{});
  return body(std::integral_constant<int, 32>{});
}

// The stored scale of a chain.
std::uint8_t* scale_at(const PackedMatrix& w, std::int64_t row, std::int64_t chain) {
  const std::int64_t per_step = w.step / w.chain;
  std::uint8_t* scales = step_at(w, row / PackedMatrix::kPanel, chain / per_step) + w.code_bytes();
  return scales + (chain % per_step * PackedMatrix::kPanel + row % PackedMatrix::kPanel) * w.scale_bytes;
}

// Whether blocks of this many columns are chains that a step of 64, or of one block, holds; kernels take 16 k at a
// time.
bool fits_step(std::int64_t block_cols) {
  return block_cols % 16 == 0 && (64 % block_cols == 0 || block_cols % 64 == 0);
}

void allocate(PackedMatrix& w) { w.panels = Tensor(DType::kU8, {w.panel_count(), w.panel_bytes()}); }

// Where a row of what is packed begins: its codes, and its scales where a chain has one.
struct RowSource {
  const std::uint8_t* codes = nullptr;
  const std::uint8_t* scales = nullptr;
};

template <int kBytes>
void put_scales(std::uint8_t* to, const std::uint8_t* from, std::int64_t count) {
  for (std::int64_t c = 0; c < count; ++c)
    std::memcpy(to + c * PackedMatrix::kPanel * kBytes, from + c * kBytes, kBytes);
}
void fill_scales(const PackedMatrix& w, std::uint8_t* step, std::int64_t first, std::span<const RowSource> source) {
  const std::int64_t count = std::min(w.step / w.chain, ceil_div(w.extent.cols, w.chain) - first);
  std::uint8_t* scales = step + w.code_bytes();
  for (std::size_t r = 0; r < source.size(); ++r) {
    if (w.scale_bytes == 1)
      put_scales<1>(scales + r, source[r].scales + first, count);
    else
      put_scales<4>(scales + r * 4, source[r].scales + first * 4, count);
  }
}

// A few steps at a time, which the first cache holds, and in them row by row. `source`: of each of the panel's rows.
void fill_panel(const PackedMatrix& w, std::int64_t panel, std::span<const RowSource> source) {
  const std::int64_t at_once = std::max<std::int64_t>(1, (std::int64_t{8} << 10) / w.step_bytes()),
                     cols = w.extent.cols;
  for (std::int64_t first = 0; first < w.steps(); first += at_once) {
    const std::int64_t end = std::min(first + at_once, w.steps());
    std::uint8_t* to = step_at(w, panel, first);
    if (source.size() < PackedMatrix::kPanel || end * w.step > cols)
      std::memset(to, 0, static_cast<std::size_t>((end - first) * w.step_bytes()));
    with_bits(w.code_bits, [&](auto bits) {
      for (std::size_t r = 0; r < source.size(); ++r)
        for (std::int64_t s = first; s < end; ++s)
          put_codes<decltype(bits)::value>(to + (s - first) * w.step_bytes(), static_cast<std::int64_t>(r),
                                           source[r].codes + s * w.step * bits / 8,
                                           std::min(w.step, cols - s * w.step));
    });
    for (std::int64_t s = first; s < end && w.scale_bytes > 0; ++s)
      fill_scales(w, to + (s - first) * w.step_bytes(), s * (w.step / w.chain), source);
  }
}

template <class SourceOf>
void fill_panels(Stream& stream, PackedMatrix& w, const SourceOf& source_of) {
  parallel_for(stream.pool(), w.panel_count(), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t panel = begin; panel < end; ++panel) {
      RowSource sources[PackedMatrix::kPanel];
      const std::int64_t first = panel * PackedMatrix::kPanel,
                         rows = std::min(PackedMatrix::kPanel, w.extent.rows - first);
      for (std::int64_t r = 0; r < rows; ++r) sources[r] = source_of(first + r);
      fill_panel(w, panel, std::span(sources).first(static_cast<std::size_t>(rows)));
    }
  });
}

float factor_of(Sense sense, float global) {
  if (sense == Sense::kMultiply) return global;
  if (sense == Sense::kMaximum) return global * (1.f / 2688.f);
  return 1.f / global;
}

// A factor for each row: its segment's global, or the scale of a format whose blocks are whole rows.
Tensor row_factors(const QuantizedTensor& q, bool scales_are_factors) {
  if (!q.format.has_global && !scales_are_factors) return Tensor(DType::kF32, {0});
  Tensor factors(DType::kF32, {q.extent.rows});
  const Block block = block_in(q.format, q.extent);
  std::size_t segment = 0;
  for (std::int64_t row = 0; row < q.extent.rows; ++row) {
    while (segment < q.segment_ends.size() && q.segment_ends[segment] <= row) ++segment;
    float factor = q.format.has_global ? factor_of(q.sense, q.global.as<float>()[segment]) : 1.f;
    if (scales_are_factors) factor *= q.scales.as<float>()[row / block.rows];
    factors.as<float>()[row] = factor;
  }
  return factors;
}

// Whether one scale serves a whole row or more of them.
bool scales_are_factors(const Format& format, Extent extent) {
  return format.scale == kE8M23 && (format.block.cols == 0 || block_in(format, extent).cols >= extent.cols);
}

}  // namespace

PackedMatrix packed_layout(const Format& format, Extent extent) {
  PackedMatrix w{.extent = extent, .format = format};
  const int bits = format.element.bits();
  if (format.is_dense()) {
    w.converted = format.element == kE5M10;
    w.code_bits = format.element == kE8M7 ? 16 : 32;
    return w;
  }
  const std::int64_t cols = block_in(format, extent).cols;
  const bool factors = scales_are_factors(format, extent);
  w.converted = (bits != 4 && bits != 8) || (!factors && (format.block.cols == 0 || !fits_step(cols)));
  w.code_bits = w.converted ? 32 : bits;
  if (w.converted || factors) return w;
  w.scale_bytes = static_cast<int>(scale_bytes(format));
  w.chain = cols;
  w.step = std::max<std::int64_t>(64, cols);
  return w;
}

PackedMatrix pack(Stream& stream, const QuantizedTensor& q) {
  validate(q);
  PackedMatrix w = packed_layout(q.format, q.extent);
  if (w.converted) {
    w = pack(stream, dequantize(stream, q));
    w.format = q.format;
    w.converted = true;
    return w;
  }
  const bool factors = w.scale_bytes == 0;
  w.row_factor = row_factors(q, factors);
  w.facts = q;
  w.facts.codes = Tensor(DType::kU8, {0});
  if (!factors) w.facts.scales = w.facts.codes;  // otherwise factors may be products of them and the globals
  allocate(w);
  const Block block = block_in(q.format, q.extent);
  const std::int64_t bytes = row_bytes(q.format, q.extent.cols), chains = ceil_div(q.extent.cols, w.chain);
  fill_panels(stream, w, [&](std::int64_t row) -> RowSource {
    return {q.codes.as<std::uint8_t>() + row * bytes,
            q.scales.as<std::uint8_t>() + row / block.rows * chains * w.scale_bytes};
  });
  return w;
}

PackedMatrix pack(Stream& stream, const Tensor& values) {
  const DType type = values.dtype();
  require(type == DType::kBf16 || type == DType::kF16 || type == DType::kF32, Errc::kUnsupported,
          "pack: a matrix of {}; BF16, F16, F32 and quantized ones can be multiplied", dtype_name(type));
  require(values.shape().size() == 2, Errc::kShape, "pack: a tensor {} is no matrix", shape_text(values.shape()));
  PackedMatrix w = packed_layout(find_format(type == DType::kBf16  ? "bf16"
                                             : type == DType::kF16 ? "f16"
                                                                   : "f32"),
                                 values.extent());
  Tensor wide = values;
  if (type == DType::kF16) {
    wide = Tensor(DType::kF32, values.shape());
    parallel_for(stream.pool(), values.count(), [&](std::int64_t begin, std::int64_t end, int) {
      read_floats(values, begin, {wide.as<float>() + begin, static_cast<std::size_t>(end - begin)});
    });
  }
  allocate(w);
  const std::int64_t bytes = w.extent.cols * w.code_bits / 8;
  fill_panels(stream, w, [&](std::int64_t row) -> RowSource { return {wide.as<std::uint8_t>() + row * bytes}; });
  return w;
}

QuantizedTensor unpack(Stream& stream, const PackedMatrix& w) {
  require(w.format.is_scaled() && !w.converted, Errc::kUnsupported, "unpack: a matrix of {} was packed as {}",
          format_label(w.format), w.converted ? "f32 values" : "it is");
  QuantizedTensor q = w.facts;
  const Block block = block_in(q.format, q.extent);
  const Extent grid = scale_extent(q.format, q.extent);
  const std::int64_t bytes = row_bytes(q.format, q.extent.cols);
  q.codes = Tensor(DType::kU8, {q.extent.rows, bytes});
  if (w.scale_bytes > 0) q.scales = Tensor(w.scale_bytes == 4 ? DType::kF32 : DType::kU8, {grid.rows, grid.cols});
  parallel_for(stream.pool(), q.extent.rows, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::uint8_t* codes = q.codes.as<std::uint8_t>() + row * bytes;
      for (std::int64_t s = 0; s < w.steps(); ++s)
        with_bits(w.code_bits, [&](auto bits) {
          const std::int64_t first = s * w.step;
          take_codes<decltype(bits)::value>(step_at(w, row / PackedMatrix::kPanel, s), row % PackedMatrix::kPanel,
                                            codes + first * bits / 8, std::min(w.step, w.extent.cols - first));
        });
      if (w.scale_bytes == 0 || row % block.rows != 0) continue;
      std::uint8_t* scales = q.scales.as<std::uint8_t>() + row / block.rows * grid.cols * w.scale_bytes;
      for (std::int64_t c = 0; c < grid.cols; ++c)
        std::memcpy(scales + c * w.scale_bytes, scale_at(w, row, c), static_cast<std::size_t>(w.scale_bytes));
    }
  });
  return q;
}

void read_codes(const PackedMatrix& w, std::int64_t row, std::span<float> values) {
  TESSERA_ASSERT(static_cast<std::int64_t>(values.size()) == w.extent.cols);
  for (std::int64_t k = 0; k < w.extent.cols; ++k) {
    const std::uint8_t* codes = step_at(w, row / PackedMatrix::kPanel, k / w.step);
    const Spot at = spot_of(w.code_bits, row % PackedMatrix::kPanel, k % w.step);
    std::uint32_t bits = 0;
    std::memcpy(&bits, codes + at.byte, static_cast<std::size_t>(std::max(1, w.code_bits / 8)));
    if (w.code_bits == 4) bits = bits >> at.shift & 15;
    const Element element = w.code_bits == 32 ? kE8M23 : w.format.element;
    values[static_cast<std::size_t>(k)] = decode(element, bits);
  }
}

void read_scales(const PackedMatrix& w, std::int64_t row, std::span<float> scales) {
  for (std::size_t c = 0; c < scales.size(); ++c) {
    std::uint32_t bits = w.scale_bytes == 1 ? 0 : 0x3f800000;
    if (w.scale_bytes > 0)
      std::memcpy(&bits, scale_at(w, row, static_cast<std::int64_t>(c)), static_cast<std::size_t>(w.scale_bytes));
    scales[c] = w.scale_bytes == 1 ? decode_scale_bits<float>(w.format, bits) : std::bit_cast<float>(bits);
  }
}

void read_values(const PackedMatrix& w, std::int64_t row, std::span<float> values) {
  read_codes(w, row, values);
  if (w.format.is_dense() || w.converted) return;
  std::vector<float> scales(static_cast<std::size_t>(ceil_div(w.extent.cols, w.chain)));
  read_scales(w, row, scales);
  std::size_t segment = 0;
  while (segment < w.facts.segment_ends.size() && w.facts.segment_ends[segment] <= row) ++segment;
  const float global = w.format.has_global ? w.facts.global.as<float>()[segment] : 1.f;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const float scale =
        w.scale_bytes > 0 ? scales[k / static_cast<std::size_t>(w.chain)] : w.row_factor.as<float>()[row];
    float& value = values[k];
    if (!w.facts.reads_minus_zero) value = value + 0.f;  // -0 + 0 is +0
    if (!w.format.has_global)
      value *= scale;
    else if (w.facts.sense == Sense::kReciprocalFirst)
      value = value * (1.f / global) * scale;
    else
      value *= decoding_scale(w.facts.sense, scale, global);
  }
}

}  // namespace tessera
