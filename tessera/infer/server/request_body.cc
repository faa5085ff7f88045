#include "tessera/infer/server/request_body.h"

#include <charconv>
#include <cstdint>
#include <system_error>

#include "tessera/base/utf8.h"
#include "tessera/infer/server/api_error.h"

namespace tessera::server {
namespace {

constexpr std::string_view kLargest = "1.7976931348623157e308";

bool is_number_byte(char c) {
  return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

bool is_too_large(std::string_view number) {
  double value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (read.ec != std::errc::result_out_of_range || read.ptr != number.data() + number.size()) return false;
  // from_chars says the same of what is too small, which parsers read as 0: an exponent below zero.
  const std::size_t e = number.find_first_of("eE");
  return e == std::string_view::npos || e + 1 >= number.size() || number[e + 1] != '-';
}

// The end of the string that begins at `at`, behind its quote.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

// The text with the largest f64 for each number beyond it; refuses depth. What is malformed stays so.
std::string prepare(std::string_view text) {
  std::string out;
  std::size_t copied = 0;
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      continue;
    }
    if (c == '[' || c == '{') {
      if (++depth > kDeepest) refuse("", "", "The body nests deeper than {}", kDeepest);
    } else if (c == ']' || c == '}') {
      --depth;
    }
    std::size_t end = at + 1;
    if (is_number_byte(c)) {
      while (end < text.size() && is_number_byte(text[end])) ++end;
      const bool is_negative = c == '-';
      if (is_too_large(text.substr(at, end - at))) {
        out += text.substr(copied, at - copied);
        out += is_negative ? "-" : "";
        out += kLargest;
        copied = end;
      }
    }
    at = end;
  }
  return out + std::string(text.substr(copied));
}

}  // namespace

Json parse_body(std::string_view bytes) {
  const std::size_t valid = valid_utf8_prefix(bytes);
  if (valid != bytes.size()) refuse("", "", "The body is not UTF-8 at byte {}", valid);
  const std::string text = prepare(bytes);
  Json body;
  try {
    body = parse_json(text, {.depth = kDeepest});
  } catch (const Error& e) {
    refuse("", "", "The body is not JSON: {}", e.message());
  }
  if (!body.is_object()) refuse("", "", "The body must be a JSON object");
  return body;
}

}  // namespace tessera::server
