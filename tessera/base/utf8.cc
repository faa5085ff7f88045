#include "tessera/base/utf8.h"

#include <fmt/format.h>

#include <cstdint>

namespace tessera {
namespace {

struct Sequence {
  std::size_t bytes = 0;  // that belong together; a wrong sequence's are one maximal part
  bool valid = false;
};

// `text` is not empty.
Sequence read_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {1, true};
  if (first < 0xC2 || first > 0xF4) return {1, false};
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte's range is narrower after four of the first bytes: overlong forms, surrogates, U+110000.
  const std::uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (text.size() < 2 || byte(1) < low || byte(1) > high) return {1, false};
  for (std::size_t i = 2; i < length; ++i)
    if (i >= text.size() || (byte(i) & 0xC0) != 0x80) return {i, false};
  return {length, true};
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (static_cast<std::uint8_t>(bytes[at]) < 0x80) {
      ++at;
      continue;
    }
    const Sequence next = read_sequence(bytes.substr(at));
    if (!next.valid) break;
    at += next.bytes;
  }
  return at;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const Sequence next = read_sequence(bytes.substr(at));
    if (next.valid) {
      text += bytes.substr(at, next.bytes);
    } else {
      append_utf8(text, 0xFFFD);
    }
    at += next.bytes;
  }
  return text;
}

void append_utf8(std::string& text, char32_t code_point) {
  std::uint32_t c = code_point;
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = 0xFFFD;
  const auto tail = [](std::uint32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | (c >> 6));
    text += tail(c);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | (c >> 12));
    text += tail(c >> 6);
    text += tail(c);
  } else {
    text += static_cast<char>(0xF0 | (c >> 18));
    text += tail(c >> 12);
    text += tail(c >> 6);
    text += tail(c);
  }
}

std::string printable(std::string_view bytes, std::size_t limit) {
  const bool cut = bytes.size() > limit;
  std::string text;
  for (const char c : replace_invalid_utf8(cut ? bytes.substr(0, limit) : bytes)) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte < 0x20 || byte == 0x7F) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      if (c == '\'' || c == '\\') text += '\\';
      text += c;
    }
  }
  return cut ? text + "..." : text;
}

}  // namespace tessera
