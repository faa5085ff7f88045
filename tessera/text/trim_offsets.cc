#include <algorithm>

#include "tessera/text/byte_alphabet.h"
#include "tessera/text/post_processor.h"
#include "tessera/text/unicode.h"

namespace tessera {
namespace {

bool is_space_of_token(char32_t c) { return c == byte_symbol(' ') || is_white_space(c); }

std::size_t leading_spaces(std::string_view token) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < token.size(); ++count) {
    const CodePoint c = read_code_point(token, at);
    if (!is_space_of_token(c.value)) break;
    at += c.bytes;
  }
  return count;
}

std::size_t trailing_spaces(std::string_view token) {
  std::size_t count = 0;
  for (std::size_t end = token.size(); end > 0; ++count) {
    end = code_point_before(token, end);
    if (!is_space_of_token(read_code_point(token, end).value)) break;
  }
  return count;
}

}  // namespace

// Offsets are counted in code points of the text, of which the spaces of a token are as many.
void trim_offsets(Encoding& encoding, const PostContext& context, bool keeps_prefix) {
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const std::string* token = context.token(encoding.ids[i]);
    if (token == nullptr) continue;
    ByteRange& range = encoding.offsets[i];
    std::size_t leading = leading_spaces(*token);
    const std::size_t trailing = trailing_spaces(*token);
    if (leading == 1 && keeps_prefix && (i == 0 || range.begin == 0)) leading = 0;  // more of them were in the text
    for (; leading > 0 && range.begin < range.end; --leading)
      range.begin += read_code_point(context.text, range.begin).bytes;
    std::size_t end = range.end, left = trailing;
    for (; left > 0 && end > 0; --left) end = code_point_before(context.text, end);
    if (left == 0) range.end = std::max(static_cast<std::uint32_t>(end), range.begin);  // else: more than there are
  }
}

}  // namespace tessera
