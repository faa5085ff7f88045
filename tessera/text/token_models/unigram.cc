#include "tessera/text/token_models/unigram.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "tessera/text/byte_token.h"
#include "tessera/text/byte_trie.h"
#include "tessera/text/unicode.h"

namespace tessera::token_models {
namespace {

constexpr double kUnknownPenalty = 10;  // below the lowest score

class Unigram final : public TokenModel {
 public:
  Unigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<std::int32_t> unknown, bool byte_fallback)
      : vocabulary_(std::move(vocabulary)), scores_(std::move(scores)), unknown_(unknown) {
    double lowest = std::numeric_limits<double>::infinity();
    for (const double score : scores_) lowest = std::min(lowest, score);
    unknown_score_ = lowest - kUnknownPenalty;
    vocabulary_.for_each([&](const std::string& token, std::int32_t id) { trie_.insert(token, id); });
    if (!byte_fallback) return;
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte)
      bytes_[byte] = vocabulary_.find(byte_token(static_cast<std::uint8_t>(byte)));
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  void tokenize(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    const std::vector<Node> nodes = best_paths(piece);
    std::vector<PieceToken> backwards;
    for (std::size_t end = piece.size(); end > 0; end = nodes[end].begin) {
      const Node& node = nodes[end];
      const auto begin = static_cast<std::uint32_t>(node.begin);
      if (node.id == kUnknown && !backwards.empty() && backwards.back().id == kUnknown) {
        backwards.back().begin = begin;
      } else {
        backwards.push_back({node.id, begin, static_cast<std::uint32_t>(end)});
      }
    }
    for (auto token = backwards.rbegin(); token != backwards.rend(); ++token) add(*token, piece, tokens);
  }

 private:
  static constexpr std::int32_t kUnknown = -1;
  struct Node {  // the best path that ends at a byte
    double score = 0;
    std::size_t begin = 0;  // of its last token
    std::int32_t id = 0;
    bool reached = false;
  };

  std::vector<Node> best_paths(std::string_view piece) const {
    std::vector<Node> nodes(piece.size() + 1);
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t character = read_code_point(piece, at).bytes;
      const double so_far = nodes[at].score;
      bool covered = false;
      const auto offer = [&](std::size_t bytes, std::int32_t id, double score) {
        Node& node = nodes[at + bytes];
        if (!node.reached || so_far + score > node.score) node = {so_far + score, at, id, true};
      };
      trie_.for_each_prefix(piece.substr(at), [&](std::size_t bytes, std::int32_t id) {
        offer(bytes, unknown_ == id ? kUnknown : id, scores_[static_cast<std::size_t>(id)]);
        covered = covered || bytes == character;
      });
      if (!covered) offer(character, kUnknown, unknown_score_);
      at += character;
    }
    return nodes;
  }

  void add(const PieceToken& token, std::string_view piece, std::vector<PieceToken>& tokens) const {
    if (token.id != kUnknown) {
      tokens.push_back(token);
      return;
    }
    const std::string_view text = piece.substr(token.begin, token.end - token.begin);
    if (const std::optional<std::int32_t> whole = vocabulary_.find(text)) {
      tokens.push_back({*whole, token.begin, token.end});
      return;
    }
    if (std::all_of(text.begin(), text.end(), [&](char c) { return bytes_[static_cast<std::uint8_t>(c)]; })) {
      for (const char byte : text) tokens.push_back({*bytes_[static_cast<std::uint8_t>(byte)], token.begin, token.end});
      return;
    }
    require(unknown_.has_value(), Errc::kInvalid, "the vocabulary covers no '{}' and has no unknown token",
            printable(text, 40));
    tokens.push_back({*unknown_, token.begin, token.end});
  }

  Vocabulary vocabulary_;
  std::vector<double> scores_;  // of each id
  double unknown_score_ = 0;
  std::optional<std::int32_t> unknown_;
  ByteTrie trie_;
  std::array<std::optional<std::int32_t>, 256> bytes_;
};

}  // namespace

std::unique_ptr<TokenModel> make_unigram(const Json& json) {
  Vocabulary vocabulary;
  std::vector<double> scores;
  const JsonArray& entries = field(json, "vocab").as_array();
  vocabulary.reserve(entries.size());
  for (const Json& entry : entries) {
    const JsonArray& pair = entry.as_array();
    require(pair.size() == 2, Errc::kCorrupt,
            "an entry of the vocabulary has {} elements; a token and its score are "
            "expected",
            pair.size());
    vocabulary.add(pair[0].as_string(), static_cast<std::int64_t>(scores.size()));
    scores.push_back(pair[1].as_double());
  }
  std::optional<std::int32_t> unknown;
  if (const Json* id = json.find("unk_id"); id != nullptr && !id->is_null()) {
    require(id->as_uint64() < scores.size(), Errc::kCorrupt, "\"unk_id\" is {}, of {} tokens", id->as_uint64(),
            scores.size());
    unknown = static_cast<std::int32_t>(id->as_uint64());
  }
  return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), unknown,
                                   bool_field(json, "byte_fallback", false));
}

}  // namespace tessera::token_models
