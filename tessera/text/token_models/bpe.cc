#include "tessera/text/token_models/bpe.h"

#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "tessera/text/byte_token.h"
#include "tessera/text/flat_map.h"
#include "tessera/text/unicode.h"

namespace tessera::token_models {
namespace {

struct Merge {
  std::uint32_t rank = 0;
  std::int32_t id = 0;  // of the merged token
};

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

// A token among its neighbours; bytes 0: merged into the one before.
struct Symbol {
  std::int32_t id = 0;
  std::uint32_t bytes = 0;
  std::int32_t before = -1, after = -1;
};

// A pair that may be merged, as it was when it was found.
struct Candidate {
  std::uint32_t rank = 0;
  std::uint32_t at = 0;  // the left one
  std::int32_t id = 0;
  bool operator>(const Candidate& other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
};

struct BpeOptions {
  bool ignores_merges = false, falls_back_to_bytes = false, fuses_unknown = false;
  std::optional<std::int32_t> unknown;
  std::string prefix;  // of tokens that do not begin a word
  std::string suffix;  // of the token that ends a word
};

class Bpe final : public TokenModel {
 public:
  Bpe(Vocabulary vocabulary, FlatMap<Merge> merges, BpeOptions options)
      : vocabulary_(std::move(vocabulary)), merges_(std::move(merges)), options_(std::move(options)) {
    vocabulary_.for_each([&](const std::string& token, std::int32_t id) {
      if (!token.empty() && read_code_point(token, 0).bytes == token.size())
        characters_.insert(read_code_point(token, 0).value, id);
      char32_t before = 0;
      for (std::size_t at = 0; at < token.size();) {
        const CodePoint c = read_code_point(token, at);
        if (at > 0 && c.value != before) inner_.insert(c.value, {});
        before = c.value;
        at += c.bytes;
      }
    });
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte)
      bytes_[byte] = vocabulary_.find(byte_token(static_cast<std::uint8_t>(byte)));
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  void tokenize(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    if (piece.empty()) return;
    if (options_.ignores_merges) {
      if (const std::optional<std::int32_t> whole = vocabulary_.find(piece)) {
        tokens.push_back({*whole, 0, static_cast<std::uint32_t>(piece.size())});
        return;
      }
    }
    if (piece.size() <= kShort || !options_.prefix.empty() || !options_.suffix.empty()) {
      tokenize_run(piece, 0, tokens);
    } else {
      tokenize_runs(piece, tokens);
    }
  }

 private:
  static constexpr std::size_t kShort = 64;  // bytes

  void tokenize_run(std::string_view run, std::uint32_t at, std::vector<PieceToken>& tokens) const {
    std::vector<Symbol> symbols = split(run);
    merge(symbols);
    for (const Symbol& s : symbols) {
      if (s.bytes > 0) tokens.push_back({s.id, at, at + s.bytes});
      at += s.bytes;
    }
  }

  // A long piece is cut where no token can reach across, and runs that come again are merged once. SentencePiece's
  // tokenizers cut texts into no pieces, but their words begin with a mark that stands within no token.
  void tokenize_runs(std::string_view piece, std::vector<PieceToken>& tokens) const {
    std::unordered_map<std::string_view, std::vector<PieceToken>> known;
    const auto add_run = [&](std::size_t begin, std::size_t end) {
      const auto [it, fresh] = known.try_emplace(piece.substr(begin, end - begin));
      if (fresh) tokenize_run(it->first, 0, it->second);
      const auto shift = static_cast<std::uint32_t>(begin);
      for (const PieceToken& t : it->second) tokens.push_back({t.id, t.begin + shift, t.end + shift});
    };
    std::size_t begin = 0;
    char32_t before = 0;
    for (std::size_t at = 0; at < piece.size();) {
      const CodePoint c = read_code_point(piece, at);
      const bool begins_run = at > begin && c.value != before && inner_.find(c.value) == nullptr &&
                              characters_.find(c.value) != nullptr && characters_.find(before) != nullptr;
      if (begins_run) {
        add_run(begin, at);
        begin = at;
      }
      before = c.value;
      at += c.bytes;
    }
    add_run(begin, piece.size());
  }

  std::optional<std::int32_t> find_character(std::string_view text, char32_t c, bool is_first, bool is_last) const {
    const bool prefixed = !is_first && !options_.prefix.empty(), suffixed = is_last && !options_.suffix.empty();
    if (prefixed || suffixed)
      return vocabulary_.find((prefixed ? options_.prefix : "") + std::string(text) +
                              (suffixed ? options_.suffix : ""));
    const std::int32_t* id = characters_.find(c);
    return id != nullptr ? std::optional(*id) : std::nullopt;
  }

  bool all_bytes_are_tokens(std::string_view text) const {
    return std::all_of(text.begin(), text.end(), [&](char c) { return bytes_[static_cast<std::uint8_t>(c)]; });
  }

  // One symbol a character. Characters that the vocabulary lacks are bytes, the unknown token, or nothing.
  std::vector<Symbol> split(std::string_view piece) const {
    std::vector<Symbol> symbols;
    symbols.reserve(piece.size());
    std::uint32_t unknown_bytes = 0;
    const auto add = [&](std::int32_t id, std::uint32_t bytes) { symbols.push_back({id, bytes}); };
    const auto add_unknown = [&] {
      if (unknown_bytes > 0) add(*options_.unknown, unknown_bytes);
      unknown_bytes = 0;
    };
    for (std::size_t at = 0; at < piece.size();) {
      const CodePoint c = read_code_point(piece, at);
      const std::string_view text = piece.substr(at, c.bytes);
      if (const auto id = find_character(text, c.value, at == 0, at + c.bytes == piece.size())) {
        add_unknown();
        add(*id, c.bytes);
      } else if (options_.falls_back_to_bytes && all_bytes_are_tokens(text)) {
        for (const char byte : text) add(*bytes_[static_cast<std::uint8_t>(byte)], 1);
      } else if (options_.unknown) {
        if (!options_.fuses_unknown) add_unknown();
        unknown_bytes += c.bytes;
      }
      at += c.bytes;
    }
    add_unknown();
    return symbols;
  }

  void merge(std::vector<Symbol>& symbols) const {
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto consider = [&](std::int32_t left, std::int32_t right) {
      if (left < 0 || right < 0) return;
      const auto at = static_cast<std::size_t>(left);
      const Merge* found = merges_.find(pair_key(symbols[at].id, symbols[static_cast<std::size_t>(right)].id));
      if (found != nullptr) queue.push({found->rank, static_cast<std::uint32_t>(left), found->id});
    };
    const auto count = static_cast<std::int32_t>(symbols.size());
    for (std::int32_t i = 0; i < count; ++i) {
      symbols[static_cast<std::size_t>(i)].before = i - 1;
      symbols[static_cast<std::size_t>(i)].after = i + 1 < count ? i + 1 : -1;
    }
    for (std::int32_t i = 0; i + 1 < count; ++i) consider(i, i + 1);
    while (!queue.empty()) {
      const Candidate next = queue.top();
      queue.pop();
      Symbol& left = symbols[next.at];
      if (left.bytes == 0 || left.after < 0) continue;
      Symbol& right = symbols[static_cast<std::size_t>(left.after)];
      const Merge* found = merges_.find(pair_key(left.id, right.id));
      if (found == nullptr || found->id != next.id) continue;  // one of the two has changed since
      left.id = next.id;
      left.bytes += right.bytes;
      left.after = right.after;
      right.bytes = 0;
      if (left.after >= 0) symbols[static_cast<std::size_t>(left.after)].before = static_cast<std::int32_t>(next.at);
      consider(left.before, static_cast<std::int32_t>(next.at));
      consider(static_cast<std::int32_t>(next.at), left.after);
    }
  }

  Vocabulary vocabulary_;
  FlatMap<Merge> merges_;
  BpeOptions options_;
  FlatMap<std::int32_t> characters_;  // tokens of one code point
  struct Nothing {};
  FlatMap<Nothing> inner_;  // code points that stand behind another one within a token
  std::array<std::optional<std::int32_t>, 256> bytes_;
};

// "a b", or ["a", "b"] where tokens hold spaces.
std::pair<std::string_view, std::string_view> read_pair(const Json& merge) {
  if (merge.is_string()) {
    const std::string_view text = merge.as_string();
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
      fail(Errc::kCorrupt, "the merge '{}' is not two tokens with a space between", printable(text));
    return {text.substr(0, space), text.substr(space + 1)};
  }
  const JsonArray& pair = merge.as_array();
  require(pair.size() == 2, Errc::kCorrupt, "a merge of {} tokens", pair.size());
  return {pair[0].as_string(), pair[1].as_string()};
}

FlatMap<Merge> read_merges(const Json& json, const Vocabulary& vocabulary, const std::string& prefix) {
  FlatMap<Merge> merges;
  const auto find = [&](std::string_view token) {
    const std::optional<std::int32_t> id = vocabulary.find(token);
    if (!id) fail(Errc::kCorrupt, "the vocabulary lacks '{}', which a merge names", printable(token));
    return *id;
  };
  std::uint32_t rank = 0;
  std::string merged;
  for (const Json& merge : field(json, "merges").as_array()) {
    const auto [left, right] = read_pair(merge);
    if (right.size() < prefix.size())
      fail(Errc::kCorrupt, "the merge of '{}' and '{}' lacks the prefix '{}'", printable(left), printable(right),
           printable(prefix));
    merged.assign(left).append(right.substr(prefix.size()));
    merges.insert(pair_key(find(left), find(right)), {}) = {rank++, find(merged)};
  }
  return merges;
}

}  // namespace

std::unique_ptr<TokenModel> make_bpe(const Json& json) {
  const Json* dropout = json.find("dropout");
  require(dropout == nullptr || dropout->is_null() || dropout->as_double() == 0, Errc::kUnsupported,
          "a BPE model with dropout gives other tokens each time");
  Vocabulary vocabulary;
  const JsonObject& tokens = field(json, "vocab").as_object();
  vocabulary.reserve(tokens.size());
  for (const auto& [token, id] : tokens) vocabulary.add(token, id.as_int64());
  BpeOptions options{.ignores_merges = bool_field(json, "ignore_merges", false),
                     .falls_back_to_bytes = bool_field(json, "byte_fallback", false),
                     .fuses_unknown = bool_field(json, "fuse_unk", false),
                     .unknown = std::nullopt,
                     .prefix = string_field(json, "continuing_subword_prefix", ""),
                     .suffix = string_field(json, "end_of_word_suffix", "")};
  if (const Json* unknown = json.find("unk_token"); unknown != nullptr && !unknown->is_null()) {
    options.unknown = vocabulary.find(unknown->as_string());
    require(options.unknown.has_value(), Errc::kCorrupt, "the vocabulary lacks the unknown token '{}'",
            printable(unknown->as_string()));
  }
  FlatMap<Merge> merges = read_merges(json, vocabulary, options.prefix);
  return std::make_unique<Bpe>(std::move(vocabulary), std::move(merges), std::move(options));
}

}  // namespace tessera::token_models
