// UTF-8: which bytes are text.
// Source: Unicode 15, section 3.9, table 3-7 (no overlong forms, no surrogates, nothing beyond U+10FFFF).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tessera {

// Bytes of the longest prefix that is UTF-8.
std::size_t valid_utf8_prefix(std::string_view bytes);
inline bool is_utf8(std::string_view bytes) { return valid_utf8_prefix(bytes) == bytes.size(); }

// U+FFFD for each maximal wrong part, as Unicode recommends and Python's `replace` does.
std::string replace_invalid_utf8(std::string_view bytes);

// Appends the code point; a surrogate or a number beyond U+10FFFF becomes U+FFFD.
void append_utf8(std::string& text, char32_t code_point);

// For messages: at most `limit` bytes, control characters and quotes escaped, wrong bytes replaced, "..." where cut.
std::string printable(std::string_view bytes, std::size_t limit = 120);

}  // namespace tessera
