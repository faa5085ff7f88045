// TokenModel: turns a piece of text into tokens of its vocabulary.
// Source: the tokenizers library, which the fixtures of tests/data/text come from.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/text/part_kind.h"
#include "tessera/text/vocabulary.h"

namespace tessera {

// begin, end: bytes of the piece.
struct PieceToken {
  std::int32_t id = 0;
  std::uint32_t begin = 0, end = 0;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the tokens of a piece of UTF-8.
  virtual void tokenize(std::string_view piece, std::vector<PieceToken>& tokens) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
};
using TokenModelKind = PartKind<TokenModel>;

// kUnsupported for an unknown kind, listing those there are; kCorrupt for a vocabulary that does not hold together.
std::unique_ptr<TokenModel> make_token_model(const Json& json);

}  // namespace tessera
