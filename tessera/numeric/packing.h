// Packing: where the codes of a row stand. They follow each other from the lowest bit of the first byte on, so codes of
// 4 bits are two a byte, low half first, and four codes of 6 bits are three bytes, two of them in parts. Rows begin on
// a byte. Source: OCP MX v1.0 leaves it open; measured in files of every dialect that is read, of 6 bits in AMD
// Quark's.
#pragma once
#include <cstdint>

#include "tessera/numeric/element.h"

namespace tessera {

// The fewest codes that fill whole bytes: 2 of 4 bits, 4 of 6, 1 of 8 and more.
constexpr std::int64_t codes_of_whole_bytes(const Element& element) {
  std::int64_t count = 1;
  while (count * element.bits() % 8 != 0) count *= 2;
  return count;
}

// Code i of a row; of 8 bits or fewer.
constexpr std::uint32_t load_code(const std::uint8_t* row, int bits, std::int64_t i) {
  const std::int64_t first = i * bits;
  const auto shift = static_cast<int>(first % 8);
  std::uint32_t word = row[first / 8];
  if (shift + bits > 8) word |= static_cast<std::uint32_t>(row[first / 8 + 1]) << 8;
  return (word >> shift) & ((1u << bits) - 1u);
}

// Puts code i behind those before it. Bits of its last byte that follow it become 0, so that rows are written in order
// over whatever was there.
constexpr void append_code(std::uint8_t* row, int bits, std::int64_t i, std::uint32_t code) {
  const std::int64_t first = i * bits;
  const auto shift = static_cast<int>(first % 8);
  std::uint8_t& byte = row[first / 8];
  byte = static_cast<std::uint8_t>((byte & ((1u << shift) - 1u)) | code << shift);
  if (shift + bits > 8) row[first / 8 + 1] = static_cast<std::uint8_t>(code >> (8 - shift));
}

}  // namespace tessera
