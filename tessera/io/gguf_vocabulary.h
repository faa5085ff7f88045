// The tokens of a GGUF file: `tokenizer.ggml.tokens`, `token_type` and `scores`.
// Source: GGUF specification, "Tokenizer"; llama.h, llama_token_type.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/io/gguf_keys.h"

namespace tessera {

enum class TokenType : std::uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

class GgufVocabulary final {
 public:
  // Throws kCorrupt: lists that do not fit together, a token twice, empty or no UTF-8; kUnsupported without token
  // types.
  explicit GgufVocabulary(GgufKeys& keys);

  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  const std::string& token(std::int64_t id) const { return *tokens_[static_cast<std::size_t>(id)]; }
  TokenType type(std::int64_t id) const { return types_[static_cast<std::size_t>(id)]; }
  std::optional<std::int64_t> find(std::string_view token) const;
  bool has_scores() const { return !scores_.empty(); }
  float score(std::int64_t id) const { return scores_[static_cast<std::size_t>(id)]; }
  // "[PAD7]" of id 7, unused: what converters write where the model has more rows than its tokenizer has tokens.
  bool is_filler(std::int64_t id) const;

  // {"token": id} without the fillers, and the tokens that texts are searched for first.
  Json vocab() const;
  Json added_tokens() const;

 private:
  std::vector<const std::string*> tokens_;
  std::vector<TokenType> types_;
  std::vector<float> scores_;
  std::unordered_map<std::string_view, std::int64_t> ids_;
};

// The merges of a file in its order, each a pair of tokens whose joint is one too. Throws kCorrupt, naming the merge.
Json stored_merges(const JsonArray& merges, const GgufVocabulary& vocabulary);

// Merges that do what the scores of a SentencePiece BPE model do: the best piece first, and of one piece's cuts the one
// with the longest left part, as transformers converts them. Throws kUnsupported where two pieces that can be merged
// have the same score (SentencePiece then takes the leftmost, which no list can say), or pieces are absurdly long.
// Source: transformers, convert_slow_tokenizer.py, generate_merges; SentencePiece, bpe_model.cc.
Json merges_from_scores(const GgufVocabulary& vocabulary);

}  // namespace tessera
