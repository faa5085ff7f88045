// The 256 characters that stand for bytes in the vocabulary of a byte-level tokenizer: printable Latin-1 stands for
// itself, each other byte for the next character from U+0100 on. Source: GPT-2's published encoder.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

constexpr bool is_own_symbol(std::uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr char32_t byte_symbol(std::uint8_t byte) {
  if (is_own_symbol(byte)) return byte;
  char32_t symbol = 0x100;
  for (std::uint32_t b = 0; b < byte; ++b) symbol += is_own_symbol(b) ? 0 : 1;
  return symbol;
}

std::string_view byte_symbol_utf8(std::uint8_t byte);
int symbol_byte(char32_t symbol);  // the byte that it stands for; -1: none

// Appends the bytes that a token stands for; of a token with another character, the token itself.
void append_symbol_bytes(std::string_view token, std::string& bytes);

}  // namespace tessera
