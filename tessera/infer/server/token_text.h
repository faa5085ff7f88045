// The bytes that one token stands for within a text: part of a character, perhaps.
#pragma once
#include <cstdint>
#include <string>

#include "tessera/text/tokenizer.h"

namespace tessera::server {

class TokenText final {
 public:
  explicit TokenText(const Tokenizer& tokenizer);  // which has to outlive this

  std::string bytes(std::int32_t id) const;  // "": no token
  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  const Tokenizer& tokenizer_;
  std::vector<std::int32_t> before_;  // a token that comes before, since decoders treat the first one differently
  std::string before_text_;
};

}  // namespace tessera::server
