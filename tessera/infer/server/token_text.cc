#include "tessera/infer/server/token_text.h"

#include "tessera/text/byte_alphabet.h"
#include "tessera/text/byte_token.h"

namespace tessera::server {

TokenText::TokenText(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  before_ = tokenizer.encode("a", SpecialTokens::kWithout).ids;
  before_text_ = tokenizer.decode(before_);
}

std::string TokenText::bytes(std::int32_t id) const {
  const std::string* token = tokenizer_.token(id);
  if (token == nullptr) return "";
  if (const auto byte = parse_byte_token(*token)) return std::string(1, static_cast<char>(*byte));
  std::vector<std::int32_t> ids = before_;
  ids.push_back(id);
  std::string text = tokenizer_.decode(ids);
  text = text.starts_with(before_text_) ? text.substr(before_text_.size()) : tokenizer_.decode(std::span(&id, 1));
  if (text.find("\xEF\xBF\xBD") == std::string::npos || tokenizer_.is_special(id)) return text;
  std::string bytes;  // of a byte-level vocabulary: what decoding had to replace
  append_symbol_bytes(*token, bytes);
  return bytes;
}

}  // namespace tessera::server
