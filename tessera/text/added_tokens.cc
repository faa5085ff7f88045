#include "tessera/text/added_tokens.h"

#include <algorithm>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/text/part_kind.h"
#include "tessera/text/special_tokens.h"
#include "tessera/text/unicode.h"

namespace tessera {
namespace {

AddedToken read_token(const Json& json) {
  const bool special = bool_field(json, "special", false);
  return {.content = string_field(json, "content"),
          .text = "",
          .id = token_id(field(json, "id")),
          .special = special,
          .single_word = bool_field(json, "single_word", false),
          .lstrip = bool_field(json, "lstrip", false),
          .rstrip = bool_field(json, "rstrip", false),
          .normalized = bool_field(json, "normalized", !special)};
}

std::size_t begin_of_space(std::string_view text, std::size_t end) {
  while (end > 0) {
    const std::size_t last = code_point_before(text, end);
    if (!is_white_space(read_code_point(text, last).value)) break;
    end = last;
  }
  return end;
}

std::size_t end_of_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const CodePoint c = read_code_point(text, at);
    if (!is_white_space(c.value)) break;
    at += c.bytes;
  }
  return at;
}

}  // namespace

AddedTokens::AddedTokens(const Json& json, const Vocabulary& vocabulary, const Normalizer* normalizer) {
  std::int64_t next = static_cast<std::int64_t>(vocabulary.size());
  for (const Json& entry : json.as_array()) {
    AddedToken token = read_token(entry);
    if (token.content.empty()) continue;
    if (by_content_.contains(token.content)) {
      disagreements_.push_back(
          fmt::format("the added token '{}' stands twice; the first one counts", printable(token.content)));
      continue;
    }
    const std::optional<std::int32_t> known = vocabulary.find(token.content);
    const std::int64_t id = known ? *known : next++;
    if (id != token.id)
      disagreements_.push_back(
          fmt::format("the added token '{}' has the id {}; the file says {}", printable(token.content), id, token.id));
    token.id = static_cast<std::int32_t>(id);
    const auto place = static_cast<std::int32_t>(tokens_.size());
    if (token.normalized) {
      AlignedText content(token.content, 0);
      if (normalizer != nullptr) normalizer->normalize(content);
      if (!content.empty()) normalized_begins_[static_cast<std::uint8_t>(content.text()[0])] = true;
      normalized_.insert(content.text(), place);
      token.text = content.text();
    } else {
      raw_begins_[static_cast<std::uint8_t>(token.content[0])] = true;
      raw_.insert(token.content, place);
      token.text = token.content;
    }
    by_id_.emplace(token.id, tokens_.size());
    by_content_.emplace(token.content, token.id);
    if (token.special) special_.insert(token.content);
    tokens_.push_back(std::move(token));
  }
}

const std::string* AddedTokens::token(std::int32_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &tokens_[it->second].text;
}

std::optional<std::int32_t> AddedTokens::find(std::string_view content) const {
  const auto it = by_content_.find(std::string(content));
  if (it == by_content_.end()) return std::nullopt;
  return it->second;
}

bool AddedTokens::stands_alone(std::string_view text, std::size_t begin, std::size_t end) const {
  return (begin == 0 || !is_word(read_code_point(text, code_point_before(text, begin)).value)) &&
         (end == text.size() || !is_word(read_code_point(text, end).value));
}

// The longest token at the leftmost place where there is one, and on behind it. One that has to stand alone and does
// not is passed over whole.
std::vector<AddedTokens::Found> AddedTokens::find_all(std::string_view text, const ByteTrie& trie,
                                                      const std::vector<bool>& begins) const {
  std::vector<Found> found;
  std::size_t done = 0;
  const auto add = [&](std::size_t begin, std::size_t end, std::int32_t token) {
    found.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), token});
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 0;
    std::int32_t place = -1;
    if (begins[static_cast<std::uint8_t>(text[at])])
      trie.for_each_prefix(text.substr(at), [&](std::size_t bytes, std::int32_t value) {
        length = bytes;
        place = value;
      });
    if (place < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(place)];
    std::size_t begin = at, end = at + length;
    at = end;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.lstrip) begin = std::max(begin_of_space(text, begin), done);
    if (token.rstrip) end = end_of_space(text, end);
    if (done < begin) add(done, begin, -1);
    add(begin, end, place);
    done = end;
  }
  if (done < text.size()) add(done, text.size(), -1);
  return found;
}

void AddedTokens::append_normalized(const AlignedText& text, Pieces& pieces) const {
  for (const Found& f : find_all(text.text(), normalized_, normalized_begins_)) {
    const auto begin = static_cast<std::uint32_t>(pieces.text.size());
    pieces.text.append(text, f.begin, f.end);
    const auto end = static_cast<std::uint32_t>(pieces.text.size());
    pieces.pieces.push_back({begin, end, f.token < 0 ? -1 : tokens_[static_cast<std::size_t>(f.token)].id});
  }
}

Pieces AddedTokens::cut(std::string_view text, const Normalizer* normalizer) const {
  Pieces pieces;
  pieces.text = AlignedText(text, 0).successor();
  for (const Found& f : find_all(text, raw_, raw_begins_)) {
    AlignedText stretch(text.substr(f.begin, f.end - f.begin), f.begin);
    if (f.token < 0) {
      if (normalizer != nullptr) normalizer->normalize(stretch);
      append_normalized(stretch, pieces);
    } else {
      const auto begin = static_cast<std::uint32_t>(pieces.text.size());
      pieces.text.append(stretch, 0, stretch.size());
      pieces.pieces.push_back(
          {begin, static_cast<std::uint32_t>(pieces.text.size()), tokens_[static_cast<std::size_t>(f.token)].id});
    }
  }
  return pieces;
}

}  // namespace tessera
