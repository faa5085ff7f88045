// AddedTokens: the tokens beside the model's vocabulary, which are found in a text before anything else is.
// Source: the tokenizers library, which the fixtures of tests/data/text come from.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/text/aligned_text.h"
#include "tessera/text/byte_trie.h"
#include "tessera/text/normalizer.h"
#include "tessera/text/vocabulary.h"

namespace tessera {

struct AddedToken {
  std::string content;
  std::string text;  // as found and decoded: the content, or what the normalizer makes of it
  std::int32_t id = 0;
  bool special = false;                 // left out by decoding without special tokens
  bool single_word = false;             // found only where no letter or digit stands beside it
  bool lstrip = false, rstrip = false;  // takes the white space before it, behind it
  bool normalized = false;              // looked for in the normalized text, itself normalized
};

class AddedTokens final {
 public:
  AddedTokens() = default;
  // `json`: the list "added_tokens". A token that the model has not gets the next id after its vocabulary; the "id" of
  // the file is compared only, see disagreements(). Throws kCorrupt.
  AddedTokens(const Json& json, const Vocabulary& vocabulary, const Normalizer* normalizer);

  // Cuts the text into added tokens and the rest, which is normalized. normalizer: may be null.
  Pieces cut(std::string_view text, const Normalizer* normalizer) const;

  const std::vector<AddedToken>& all() const { return tokens_; }
  const std::string* token(std::int32_t id) const;  // its text; null: there is none
  std::optional<std::int32_t> find(std::string_view content) const;
  // By the contents in the file, as the library does: a normalized token whose text is another one is not special.
  bool is_special(std::string_view token) const { return special_.contains(std::string(token)); }
  const std::vector<std::string>& disagreements() const { return disagreements_; }

 private:
  struct Found {
    std::uint32_t begin = 0, end = 0;
    std::int32_t token = -1;  // of tokens_; -1: text
  };
  std::vector<Found> find_all(std::string_view text, const ByteTrie& trie, const std::vector<bool>& begins) const;
  bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) const;
  void append_normalized(const AlignedText& text, Pieces& pieces) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::int32_t, std::size_t> by_id_;
  std::unordered_map<std::string, std::int32_t> by_content_;
  std::unordered_set<std::string> special_;
  ByteTrie raw_, normalized_;                                     // contents to their place in tokens_
  std::vector<bool> raw_begins_ = std::vector<bool>(256, false);  // the bytes with which contents begin
  std::vector<bool> normalized_begins_ = std::vector<bool>(256, false);
  std::vector<std::string> disagreements_;
};

}  // namespace tessera
