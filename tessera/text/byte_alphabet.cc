#include "tessera/text/byte_alphabet.h"

#include <array>

#include "tessera/text/unicode.h"

namespace tessera {
namespace {

struct Symbol {
  std::array<char, 2> text{};
  std::uint8_t bytes = 0;
};

// Symbols are below U+0144: one or two bytes of UTF-8.
constexpr std::array<Symbol, 256> kSymbols = [] {
  std::array<Symbol, 256> symbols{};
  for (unsigned b = 0; b < 256; ++b) {
    const auto c = static_cast<unsigned>(byte_symbol(static_cast<std::uint8_t>(b)));
    if (c < 0x80) {
      symbols[b] = {{static_cast<char>(c), 0}, 1};
    } else {
      symbols[b] = {{static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))}, 2};
    }
  }
  return symbols;
}();

constexpr std::array<std::int16_t, 0x144> kBytes = [] {
  std::array<std::int16_t, 0x144> bytes{};
  for (std::int16_t& b : bytes) b = -1;
  for (unsigned b = 0; b < 256; ++b) bytes[byte_symbol(static_cast<std::uint8_t>(b))] = static_cast<std::int16_t>(b);
  return bytes;
}();

}  // namespace

std::string_view byte_symbol_utf8(std::uint8_t byte) { return {kSymbols[byte].text.data(), kSymbols[byte].bytes}; }

int symbol_byte(char32_t symbol) { return symbol < kBytes.size() ? kBytes[symbol] : -1; }

void append_symbol_bytes(std::string_view token, std::string& bytes) {
  const std::size_t before = bytes.size();
  for (std::size_t at = 0; at < token.size();) {
    const CodePoint c = read_code_point(token, at);
    const int byte = symbol_byte(c.value);
    if (byte < 0) {
      bytes.resize(before);
      bytes += token;
      return;
    }
    bytes += static_cast<char>(byte);
    at += c.bytes;
  }
}

}  // namespace tessera
