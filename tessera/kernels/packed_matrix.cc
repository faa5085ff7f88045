#include "tessera/kernels/packed_matrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

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

// Copies one row's codes from or to its panel. `row`: as a tensor holds them, 4-bit codes two a byte.
template <class Move>
void for_each_code(const PackedMatrix& w, std::int64_t row, const Move& move) {
  const std::int64_t r = row % PackedMatrix::kPanel;
  for (std::int64_t s = 0; s < w.steps(); ++s) {
    std::uint8_t* codes = step_at(w, row / PackedMatrix::kPanel, s);
    const std::int64_t begin = s * w.step, end = std::min(begin + w.step, w.extent.cols);
    for (std::int64_t k = begin; k < end; ++k) move(codes, spot_of(w.code_bits, r, k - begin), k);
  }
}

void put_row(const PackedMatrix& w, std::int64_t row, const std::uint8_t* from) {
  const std::int64_t bytes = w.code_bits / 8;
  for_each_code(w, row, [&](std::uint8_t* codes, Spot at, std::int64_t k) {
    if (w.code_bits == 4)
      codes[at.byte] = static_cast<std::uint8_t>(codes[at.byte] | (from[k / 2] >> (k % 2 * 4) & 15) << at.shift);
    else
      std::memcpy(codes + at.byte, from + k * bytes, static_cast<std::size_t>(bytes));
  });
}

void take_row(const PackedMatrix& w, std::int64_t row, std::uint8_t* to) {
  const std::int64_t bytes = w.code_bits / 8;
  for_each_code(w, row, [&](const std::uint8_t* codes, Spot at, std::int64_t k) {
    if (w.code_bits == 4)
      to[k / 2] = static_cast<std::uint8_t>(to[k / 2] | (codes[at.byte] >> at.shift & 15) << (k % 2 * 4));
    else
      std::memcpy(to + k * bytes, codes + at.byte, static_cast<std::size_t>(bytes));
  });
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

template <class Row>
void fill_panels(Stream& stream, PackedMatrix& w, const Row& put) {
  parallel_for(stream.pool(), w.panel_count(), [&](std::int64_t begin, std::int64_t end, int) {
    std::memset(step_at(w, begin, 0), 0, static_cast<std::size_t>((end - begin) * w.panel_bytes()));
    const std::int64_t last = std::min(end * PackedMatrix::kPanel, w.extent.rows);
    for (std::int64_t row = begin * PackedMatrix::kPanel; row < last; ++row) put(row);
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
  fill_panels(stream, w, [&](std::int64_t row) {
    put_row(w, row, q.codes.as<std::uint8_t>() + row * bytes);
    const std::uint8_t* scales = q.scales.as<std::uint8_t>() + row / block.rows * chains * w.scale_bytes;
    for (std::int64_t c = 0; c < chains && w.scale_bytes > 0; ++c)
      std::memcpy(scale_at(w, row, c), scales + c * w.scale_bytes, static_cast<std::size_t>(w.scale_bytes));
  });
  return w;
}

PackedMatrix pack(Stream& stream, const Tensor& values) {
  const DType type = values.dtype();
  require(type == DType::kBf16 || type == DType::kF16 || type == DType::kF32, Errc::kUnsupported,
          "pack: a matrix of {}; BF16, F16, F32 and quantized ones can be multiplied", dtype_name(type));
  require(values.shape().size() == 2, Errc::kShape, "pack: a tensor {} is no matrix", shape_text(values.shape()));
  const std::string_view format = type == DType::kBf16 ? "bf16" : type == DType::kF16 ? "f16" : "f32";
  PackedMatrix w = packed_layout(find_format(format), values.extent());
  allocate(w);
  fill_panels(stream, w, [&](std::int64_t row) {
    const auto* from = values.as<std::uint8_t>() + row * w.extent.cols * (dtype_bits(type) / 8);
    if (type != DType::kF16) return put_row(w, row, from);
    std::vector<float> wide(static_cast<std::size_t>(w.extent.cols));
    read_floats(values, row * w.extent.cols, wide);
    put_row(w, row, reinterpret_cast<const std::uint8_t*>(wide.data()));
  });
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
      std::memset(codes, 0, static_cast<std::size_t>(bytes));
      take_row(w, row, codes);
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
  for_each_code(w, row, [&](const std::uint8_t* codes, Spot at, std::int64_t k) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, codes + at.byte, static_cast<std::size_t>(std::max(1, w.code_bits / 8)));
    if (w.code_bits == 4) bits = bits >> at.shift & 15;
    const Element element = w.code_bits == 32 ? kE8M23 : w.format.element;
    values[static_cast<std::size_t>(k)] = decode(element, bits);
  });
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
