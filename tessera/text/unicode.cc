#include "tessera/text/unicode.h"

#include <unicode/uchar.h>
#include <unicode/ustring.h>

#include <algorithm>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

UChar32 icu(char32_t c) { return static_cast<UChar32>(c); }

std::vector<UChar> utf16_of(std::string_view text) {
  std::vector<UChar> units;
  units.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    if (c.value < 0x10000) {
      units.push_back(static_cast<UChar>(c.value));
    } else {
      units.push_back(U16_LEAD(c.value));
      units.push_back(U16_TRAIL(c.value));
    }
    at += c.bytes;
  }
  return units;
}

std::string utf8_of_utf16(const std::vector<UChar>& units) {
  std::string text;
  const auto size = static_cast<std::int32_t>(units.size());
  for (std::int32_t at = 0; at < size;) {
    UChar32 c = 0;
    U16_NEXT(units.data(), at, size, c);
    append_utf8(text, static_cast<char32_t>(c));
  }
  return text;
}

// `map(into, capacity, from, length, error)` tells how many units it needs.
template <class Map>
std::string mapped(std::string_view text, const Map& map) {
  require(text.size() < (std::size_t{1} << 30), Errc::kResource, "a text of {} bytes is too long to change its case",
          text.size());
  const std::vector<UChar> from = utf16_of(text);
  std::vector<UChar> into(from.size() + 16);
  for (int attempt = 0; attempt < 2; ++attempt) {
    UErrorCode error = U_ZERO_ERROR;
    const std::int32_t length = map(into.data(), static_cast<std::int32_t>(into.size()), from.data(),
                                    static_cast<std::int32_t>(from.size()), &error);
    into.resize(static_cast<std::size_t>(length));
    if (error != U_BUFFER_OVERFLOW_ERROR) break;
  }
  return utf8_of_utf16(into);
}

bool in_category(char32_t c, std::uint32_t mask) { return (U_GET_GC_MASK(icu(c)) & mask) != 0; }

}  // namespace

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<std::uint8_t>(c) < 0x80; });
}

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80; }));
}

std::size_t byte_of_code_point(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += read_code_point(text, at).bytes;
  return at;
}

std::string utf8_of(char32_t code_point) {
  std::string text;
  append_utf8(text, code_point);
  return text;
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return u_isUWhiteSpace(icu(c)) != 0;
}
bool is_numeric(char32_t c) { return c < 0x80 ? c >= '0' && c <= '9' : in_category(c, U_GC_N_MASK); }
bool is_punctuation(char32_t c) {
  if (c < 0x80) return (c > 0x20 && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') || (c > 'z' && c < 0x7F);
  return in_category(c, U_GC_P_MASK);
}
bool is_mark(char32_t c) { return in_category(c, U_GC_M_MASK); }
bool is_word(char32_t c) {
  return u_isUAlphabetic(icu(c)) != 0 || in_category(c, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) || c == 0x200C ||
         c == 0x200D;
}
std::string lower_of(char32_t c) {
  if (c == 0x130) return "i\xCC\x87";  // the one code point that becomes two whatever stands around it
  return utf8_of(static_cast<char32_t>(u_tolower(icu(c))));
}

bool is_python_space(char32_t c) { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }
bool is_alphabetic(char32_t c) { return in_category(c, U_GC_L_MASK); }
bool is_decimal(char32_t c) { return in_category(c, U_GC_ND_MASK); }
bool is_digit(char32_t c) {
  const auto type = u_getIntPropertyValue(icu(c), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}
bool is_lower(char32_t c) { return u_isULowercase(icu(c)) != 0; }
bool is_upper(char32_t c) { return u_isUUppercase(icu(c)) != 0; }
bool is_cased(char32_t c) { return is_lower(c) || is_upper(c) || in_category(c, U_GC_LT_MASK); }
bool is_printable(char32_t c) { return c == ' ' || !in_category(c, U_GC_C_MASK | U_GC_Z_MASK); }

std::string to_lower(std::string_view text) {
  return mapped(text, [](UChar* into, std::int32_t capacity, const UChar* from, std::int32_t length,
                         UErrorCode* error) { return u_strToLower(into, capacity, from, length, "", error); });
}
std::string to_upper(std::string_view text) {
  return mapped(text, [](UChar* into, std::int32_t capacity, const UChar* from, std::int32_t length,
                         UErrorCode* error) { return u_strToUpper(into, capacity, from, length, "", error); });
}
std::string to_folded(std::string_view text) {
  return mapped(text,
                [](UChar* into, std::int32_t capacity, const UChar* from, std::int32_t length, UErrorCode* error) {
                  return u_strFoldCase(into, capacity, from, length, U_FOLD_CASE_DEFAULT, error);
                });
}
std::optional<char32_t> find_code_point(const std::string& name) {
  UErrorCode error = U_ZERO_ERROR;
  const UChar32 c = u_charFromName(U_EXTENDED_CHAR_NAME, name.c_str(), &error);
  if (U_FAILURE(error) != 0) return std::nullopt;
  return static_cast<char32_t>(c);
}
std::string to_title(char32_t c) {
  return mapped(utf8_of(c),
                [](UChar* into, std::int32_t capacity, const UChar* from, std::int32_t length, UErrorCode* error) {
                  return u_strToTitle(into, capacity, from, length, nullptr, "", error);
                });
}

}  // namespace tessera
