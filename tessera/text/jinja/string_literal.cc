#include "tessera/text/jinja/string_literal.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {
namespace {

// Digits of \x, \u, \U.
int digits_of(char kind) { return kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0; }

char simple_escape(char c) {
  constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
  const std::size_t at = kFrom.find(c);
  return at == std::string_view::npos ? static_cast<char>(0) : kTo[at];
}

}  // namespace

std::string unescape_literal(std::string_view literal, int line) {
  std::string text;
  for (std::size_t i = 0; i < literal.size();) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      text += literal[i++];
      continue;
    }
    const char kind = literal[i + 1];
    i += 2;
    if (const int digits = digits_of(kind)) {
      const std::string_view number = literal.substr(i, static_cast<std::size_t>(digits));
      std::uint32_t code = 0;
      const auto read = std::from_chars(number.data(), number.data() + number.size(), code, 16);
      require(read.ec == std::errc() && read.ptr == number.data() + digits && code <= 0x10FFFF, Errc::kCorrupt,
              "line {}: \\{} is followed by '{}'; {} hexadecimal digits of a character are expected", line, kind,
              printable(number), digits);
      append_utf8(text, code);
      i += number.size();
    } else if (kind == 'N' && i < literal.size() && literal[i] == '{') {
      const std::size_t close = std::min(literal.find('}', i), literal.size());
      const std::string name(literal.substr(i + 1, close - i - 1));
      const std::optional<char32_t> code = find_code_point(name);
      require(code.has_value(), Errc::kCorrupt, "line {}: no character is called '{}'", line, printable(name));
      append_utf8(text, *code);
      i = std::min(close + 1, literal.size());
    } else if (kind >= '0' && kind <= '7') {
      std::uint32_t code = static_cast<std::uint32_t>(kind - '0');
      for (int more = 0; more < 2 && i < literal.size() && literal[i] >= '0' && literal[i] <= '7'; ++more)
        code = code * 8 + static_cast<std::uint32_t>(literal[i++] - '0');
      append_utf8(text, code);
    } else if (const char simple = simple_escape(kind)) {
      text += simple;
    } else if (kind != '\n') {
      text += '\\';
      text += kind;
    }
  }
  return text;
}

std::string repr_of(std::string_view text) {
  const bool double_quotes = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    if (c.value == static_cast<char32_t>(quote) || c.value == '\\') {
      out += '\\';
      out += static_cast<char>(c.value);
    } else if (c.value == '\n') {
      out += "\\n";
    } else if (c.value == '\r') {
      out += "\\r";
    } else if (c.value == '\t') {
      out += "\\t";
    } else if (is_printable(c.value)) {
      out += text.substr(at, c.bytes);
    } else {
      const auto code = static_cast<std::uint32_t>(c.value);
      out += code < 0x100     ? fmt::format("\\x{:02x}", code)
             : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                              : fmt::format("\\U{:08x}", code);
    }
    at += c.bytes;
  }
  return out + quote;
}

}  // namespace tessera::jinja
