#include "tessera/text/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <unordered_map>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/utf8.h"
#include "tessera/text/added_tokens.h"
#include "tessera/text/decoder.h"
#include "tessera/text/normalizer.h"
#include "tessera/text/post_processor.h"
#include "tessera/text/pre_tokenizer.h"
#include "tessera/text/token_model.h"

namespace tessera {
namespace {

constexpr std::size_t kMaxText = (std::size_t{1} << 31) - 1;  // bytes, so that offsets fit
constexpr std::size_t kMaxRemembered = 64;                    // bytes of a piece whose tokens are kept for the next one

template <class Make>
auto read_part(const Json& json, std::string_view name, const Make& make) -> decltype(make(json)) {
  const Json* part = json.find(name);
  if (part == nullptr || part->is_null()) return nullptr;
  return make(*part);
}

// The tokens of the pieces of one text. Words come again and again: their tokens are remembered.
class PieceTokens final {
 public:
  explicit PieceTokens(const TokenModel& model) : model_(model) {}

  std::span<const PieceToken> of(std::string_view piece) {
    if (piece.size() > kMaxRemembered) {
      long_piece_.clear();
      model_.tokenize(piece, long_piece_);
      return long_piece_;
    }
    const auto [it, fresh] = known_.try_emplace(piece);
    if (fresh) {
      it->second.first = tokens_.size();
      model_.tokenize(piece, tokens_);
      it->second.second = tokens_.size() - it->second.first;
    }
    return std::span(tokens_).subspan(it->second.first, it->second.second);
  }

 private:
  const TokenModel& model_;
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> known_;  // first of tokens_, count
  std::vector<PieceToken> tokens_, long_piece_;
};

}  // namespace

struct Tokenizer::Parts {
  std::unique_ptr<Normalizer> normalizer;  // null: none, as for the others but the model
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<TokenModel> model;
  std::unique_ptr<PostProcessor> post_processor;
  std::unique_ptr<Decoder> decoder;
  AddedTokens added;
  std::function<const std::string*(std::int32_t)> token_of;
};

Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::parse(std::string_view text) {
  const Json json = parse_json(text);
  auto parts = std::make_unique<Parts>();
  Parts& p = *parts;
  p.model = make_token_model(field(json, "model"));
  p.normalizer = read_part(json, "normalizer", make_normalizer);
  p.pre_tokenizer = read_part(json, "pre_tokenizer", make_pre_tokenizer);
  p.post_processor = read_part(json, "post_processor", make_post_processor);
  p.decoder = read_part(json, "decoder", make_decoder);
  if (const Json* added = json.find("added_tokens"); added != nullptr && !added->is_null())
    p.added = AddedTokens(*added, p.model->vocabulary(), p.normalizer.get());
  p.token_of = [&p](std::int32_t id) {
    const std::string* added = p.added.token(id);
    return added != nullptr ? added : p.model->vocabulary().token(id);
  };
  return Tokenizer(std::move(parts));
}

Tokenizer Tokenizer::open(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const std::string file = fs::is_directory(path, ignored) ? path + "/tokenizer.json" : path;
  return naming_file(file, [&] { return parse(read_file(file)); });
}

Encoding Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  require(text.size() <= kMaxText, Errc::kInvalid, "a text of {} bytes; {} can be encoded at once", text.size(),
          kMaxText);
  const std::size_t valid = valid_utf8_prefix(text);
  require(valid == text.size(), Errc::kInvalid, "the text is not UTF-8: byte {} is {:#04x}", valid,
          static_cast<unsigned>(static_cast<std::uint8_t>(valid < text.size() ? text[valid] : 0)));
  const Parts& p = *parts_;
  Pieces pieces = p.added.cut(text, p.normalizer.get());
  if (p.pre_tokenizer) p.pre_tokenizer->pre_tokenize(pieces);
  Encoding encoding;
  encoding.ids.reserve(text.size() / 3);
  encoding.offsets.reserve(text.size() / 3);
  PieceTokens tokens(*p.model);
  for (const Piece& piece : pieces.pieces) {
    if (piece.id >= 0) {
      encoding.add(piece.id, pieces.text.origin(piece.begin, piece.end));
      continue;
    }
    for (const PieceToken& t : tokens.of(pieces.view(piece)))
      encoding.add(t.id, pieces.text.origin(piece.begin + t.begin, piece.begin + t.end));
  }
  if (p.post_processor)
    p.post_processor->process(encoding,
                              {.text = text, .add_special = special == SpecialTokens::kWith, .token = p.token_of});
  return encoding;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, SpecialTokens special) const {
  const Parts& p = *parts_;
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  std::size_t bytes = 0;
  for (const std::int32_t id : ids) {
    const std::string* token = p.token_of(id);
    if (token == nullptr || (special == SpecialTokens::kWithout && p.added.is_special(*token))) continue;
    tokens.push_back(*token);
    bytes += token->size();
  }
  if (p.decoder) p.decoder->decode(tokens);
  std::string text;
  text.reserve(bytes);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!p.decoder && i > 0) text += ' ';
    text += tokens[i];
  }
  return text;
}

std::optional<std::int32_t> Tokenizer::find(std::string_view token) const {
  if (const std::optional<std::int32_t> id = parts_->added.find(token)) return id;
  return parts_->model->vocabulary().find(token);
}

const std::string* Tokenizer::token(std::int32_t id) const { return parts_->token_of(id); }

bool Tokenizer::is_special(std::int32_t id) const {
  const std::string* text = token(id);
  return text != nullptr && parts_->added.is_special(*text);
}

std::size_t Tokenizer::size() const {
  std::size_t count = parts_->model->vocabulary().size();
  for (const AddedToken& added : parts_->added.all())
    if (!parts_->model->vocabulary().find(added.content)) ++count;
  return count;
}

const std::vector<std::string>& Tokenizer::warnings() const { return parts_->added.disagreements(); }

}  // namespace tessera
