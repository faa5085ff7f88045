#include "tessera/io/gguf_vocabulary.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr std::size_t kLongestPiece = 512;  // bytes; cutting one everywhere takes the square of that

const JsonArray& required_list(GgufKeys& keys, std::string_view key) {
  const JsonArray* list = keys.list(key);
  require(list != nullptr, Errc::kCorrupt, "this GGUF file has no key {}", keys.full(key));
  return *list;
}

struct Merge {
  std::int64_t piece = 0;
  std::size_t cut = 0;  // bytes of the left part
};

bool is_char_start(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Pieces that SentencePiece merges.
bool is_mergeable(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kUserDefined || type == TokenType::kUnused;
}

// The cuts of a piece into two pieces.
void append_cuts(const GgufVocabulary& vocabulary, std::int64_t piece, std::vector<Merge>& merges) {
  const std::string_view text = vocabulary.token(piece);
  require(text.size() <= kLongestPiece, Errc::kUnsupported, "the token {} has {} bytes; pieces of {} are merged", piece,
          text.size(), kLongestPiece);
  for (std::size_t cut = text.size(); cut-- > 1;) {
    if (!is_char_start(text[cut])) continue;
    const std::optional<std::int64_t> left = vocabulary.find(text.substr(0, cut));
    const std::optional<std::int64_t> right = vocabulary.find(text.substr(cut));
    if (left && right && is_mergeable(vocabulary.type(*left)) && is_mergeable(vocabulary.type(*right)))
      merges.push_back({piece, cut});
  }
}

}  // namespace

GgufVocabulary::GgufVocabulary(GgufKeys& keys) {
  const JsonArray& tokens = required_list(keys, "tokens");
  const JsonArray* types = keys.list("token_type");
  const JsonArray* scores = keys.list("scores");
  require(types != nullptr, Errc::kUnsupported, "the key {} is absent, so nothing says which tokens are special",
          keys.full("token_type"));
  require(types->size() == tokens.size() && (scores == nullptr || scores->size() == tokens.size()), Errc::kCorrupt,
          "there are {} tokens, {} types and {} scores", tokens.size(), types->size(),
          scores == nullptr ? tokens.size() : scores->size());
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::string& text = tokens[id].as_string();
    require(!text.empty() && is_utf8(text), Errc::kCorrupt, "token {} is {}", id,
            text.empty() ? "empty" : fmt::format("not UTF-8: {}", printable(text)));
    const bool is_new = ids_.emplace(text, static_cast<std::int64_t>(id)).second;
    require(is_new, Errc::kCorrupt, "token '{}' has the ids {} and {}", printable(text), ids_[text], id);
    const std::int64_t type = (*types)[id].as_int64();
    require(type >= 1 && type <= 6, Errc::kCorrupt, "token {} is of type {}; 1 to 6 are known", id, type);
    tokens_.push_back(&text);
    types_.push_back(static_cast<TokenType>(type));
    if (scores != nullptr) scores_.push_back(static_cast<float>((*scores)[id].as_double()));
  }
}

std::optional<std::int64_t> GgufVocabulary::find(std::string_view token) const {
  const auto place = ids_.find(token);
  return place == ids_.end() ? std::nullopt : std::optional(place->second);
}

bool GgufVocabulary::is_filler(std::int64_t id) const {
  return type(id) == TokenType::kUnused && token(id) == fmt::format("[PAD{}]", id);
}

Json GgufVocabulary::vocab() const {
  JsonObject vocab;
  vocab.reserve(tokens_.size());
  for (std::int64_t id = 0; id < size(); ++id)
    if (!is_filler(id)) vocab.emplace_back(token(id), id);
  return vocab;
}

Json GgufVocabulary::added_tokens() const {
  JsonArray added;
  for (std::int64_t id = 0; id < size(); ++id) {
    const bool special = type(id) == TokenType::kControl || type(id) == TokenType::kUnknown;
    if (!special && type(id) != TokenType::kUserDefined) continue;
    added.push_back(JsonObject{{"id", id},
                               {"content", token(id)},
                               {"single_word", false},
                               {"lstrip", false},
                               {"rstrip", false},
                               {"normalized", false},
                               {"special", special}});
  }
  return added;
}

Json stored_merges(const JsonArray& merges, const GgufVocabulary& vocabulary) {
  JsonArray pairs;
  pairs.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::string& merge = merges[i].as_string();
    const std::size_t space = merge.find(' ', 1);  // a space inside a part is written as U+0120
    require(space != std::string::npos, Errc::kCorrupt, "merge {} is no pair: '{}'", i, printable(merge));
    const std::string left = merge.substr(0, space), right = merge.substr(space + 1);
    require(vocabulary.find(left) && vocabulary.find(right) && vocabulary.find(fmt::format("{}{}", left, right)),
            Errc::kCorrupt, "merge {}, '{}', is not of two tokens into one", i, printable(merge));
    pairs.push_back(JsonArray{left, right});
  }
  return pairs;
}

Json merges_from_scores(const GgufVocabulary& vocabulary) {
  std::vector<Merge> merges;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) {
    require(std::isfinite(vocabulary.score(id)), Errc::kCorrupt, "the score of token {} is {}", id,
            vocabulary.score(id));
    if (is_mergeable(vocabulary.type(id))) append_cuts(vocabulary, id, merges);
  }
  std::sort(merges.begin(), merges.end(), [&](const Merge& a, const Merge& b) {
    const float x = vocabulary.score(a.piece), y = vocabulary.score(b.piece);
    if (x != y) return x > y;
    return a.piece != b.piece ? a.piece < b.piece : a.cut > b.cut;
  });
  JsonArray pairs;
  pairs.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::int64_t piece = merges[i].piece, before = i == 0 ? piece : merges[i - 1].piece;
    require(piece == before || vocabulary.score(piece) != vocabulary.score(before), Errc::kUnsupported,
            "the tokens '{}' and '{}' have the same score, so merges have no order",
            printable(vocabulary.token(before)), printable(vocabulary.token(piece)));
    const std::string& text = vocabulary.token(piece);
    pairs.push_back(JsonArray{text.substr(0, merges[i].cut), text.substr(merges[i].cut)});
  }
  return pairs;
}

}  // namespace tessera
