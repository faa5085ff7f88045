// A Format is what a reader must know to turn stored bits into numbers:
//   value[r, c] = decode(element, code[r, c]) * f32(decode(scale, block_scale[r', c']) (x or /) global)
// Dialects differ in the operation and therefore in the last bit: a QuantizedTensor keeps the stored bits of its global
// and its Sense. Blocks run along the last axis. How a writer chose the bits is a Writer, and is not here.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tessera/numeric/packing.h"

namespace tessera {

struct Block {            // the elements that share one scale
  std::int64_t cols = 1;  // along the last axis; 0: the whole row
  std::int64_t rows = 1;  // across it; 0: all rows
  constexpr bool is_square() const { return cols == rows; }
  constexpr bool operator==(const Block&) const = default;
};

struct Format {
  std::string_view name{};
  Element element{};
  Block block{};
  Element scale = kNoElement;
  bool has_global = false;  // an f32 over the block scales, one for the tensor or one for each segment of rows

  constexpr bool is_scaled() const { return scale.bits() != 0; }
  constexpr bool is_dense() const { return !is_scaled(); }
  constexpr bool operator==(const Format&) const = default;
};

struct Extent {  // elements
  std::int64_t rows = 0, cols = 0;
  constexpr std::int64_t count() const { return rows * cols; }
  constexpr bool operator==(const Extent&) const = default;
};

// a / b, rounded up; a >= 0, b > 0. No sum: a block of a hostile configuration may be as large as a number goes.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// The block of `format` within a matrix of this extent, with its zeros ("the whole") filled in; at least 1x1.
constexpr Block block_in(const Format& format, Extent e) {
  const Block b{format.block.cols != 0 ? format.block.cols : e.cols,
                format.block.rows != 0 ? format.block.rows : e.rows};
  return {b.cols > 0 ? b.cols : 1, b.rows > 0 ? b.rows : 1};
}
// Scales of a matrix: [rows, cols] of its grid of blocks; partial blocks at the edges count. {0, 0}: dense.
constexpr Extent scale_extent(const Format& format, Extent e) {
  if (format.is_dense()) return {0, 0};
  const Block b = block_in(format, e);
  return {ceil_div(e.rows, b.rows), ceil_div(e.cols, b.cols)};
}
// Codes of one row start on a byte. Bytes of a matrix's codes.
constexpr std::int64_t row_bytes(const Format& format, std::int64_t cols) {
  return ceil_div(cols * format.element.bits(), 8);
}
constexpr std::int64_t code_bytes(const Format& format, Extent e) { return e.rows * row_bytes(format, e.cols); }
// Bytes of one stored scale: 1 for small floats, 4 for f32.
constexpr std::int64_t scale_bytes(const Format& format) { return format.scale.bits() / 8; }

// The smallest pieces into which a matrix may be cut so that cutting and quantizing commute (law 4).
constexpr Extent granule(const Format& format, Extent e) {
  const std::int64_t pack = codes_of_whole_bytes(format.element);
  if (format.is_dense()) return {1, pack};
  const Block b = block_in(format, e);
  return {b.rows, b.cols > pack ? b.cols : pack};
}

std::span<const Format* const> all_formats();      // one per file of numeric/formats/
const Format& find_format(std::string_view name);  // throws kNotFound, listing the names

// FP8 with a block of any size, for checkpoints whose weight_block_size is no named format. `scale`: kE8M23 or kE8M0.
// Gives the named format where the block has one. Throws kInvalid for a block that is not positive.
Format block_fp8(Block block, Element element = kE4M3, Element scale = kE8M23);
// What people and JSON call a format: its name, or "fp8_block[32x32]" (rows x cols) for a block of another size.
std::string format_label(const Format& format);

}  // namespace tessera
