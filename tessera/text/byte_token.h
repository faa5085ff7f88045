// The tokens <0x00> to <0xFF> that stand for single bytes in SentencePiece's vocabularies.
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera {

inline std::string byte_token(std::uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

inline std::optional<std::uint8_t> parse_byte_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return std::nullopt;
  std::uint8_t byte = 0;
  const char* end = token.data() + 5;
  const auto read = std::from_chars(token.data() + 3, end, byte, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return byte;
}

}  // namespace tessera
