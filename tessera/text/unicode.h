// Code points of UTF-8 text, and the properties of them that tokenizers and templates ask for.
// Every text here is UTF-8 (base/utf8.h). Source: ICU's tables; Python's str for the functions that say so.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

struct CodePoint {
  char32_t value = 0;
  std::uint32_t bytes = 1;
};

// The code point that begins at text[at].
inline CodePoint read_code_point(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<std::uint8_t>(text[at + i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}
// Where the code point that ends before `end` begins. end > 0.
inline std::size_t code_point_before(std::string_view text, std::size_t end) {
  do --end;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0) == 0x80);
  return end;
}

bool is_ascii(std::string_view text);
std::size_t count_code_points(std::string_view text);
// The byte at which code point number `index` begins; text.size() beyond the last one.
std::size_t byte_of_code_point(std::string_view text, std::size_t index);
std::string utf8_of(char32_t code_point);

bool is_white_space(char32_t c);   // the property White_Space
bool is_numeric(char32_t c);       // categories Nd, Nl, No
bool is_punctuation(char32_t c);   // ASCII punctuation, and the categories P
bool is_mark(char32_t c);          // categories Mn, Mc, Me
bool is_word(char32_t c);          // Alphabetic, M, Nd, Pc or Join_Control: \w of UTS 18
std::string lower_of(char32_t c);  // of the one code point, whatever stands around it

// As Python's str: is_python_space adds U+001C..U+001F; the mappings are the full ones (ß becomes SS).
bool is_python_space(char32_t c);
bool is_alphabetic(char32_t c);  // categories L
bool is_decimal(char32_t c);     // category Nd
bool is_digit(char32_t c);       // that, and digits in other shapes: superscripts, circled ones
bool is_lower(char32_t c);
bool is_upper(char32_t c);
bool is_cased(char32_t c);
bool is_printable(char32_t c);
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
std::string to_title(char32_t c);
std::string to_folded(std::string_view text);
std::optional<char32_t> find_code_point(const std::string& name);  // by its name in Unicode

}  // namespace tessera
