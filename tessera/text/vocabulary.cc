#include "tessera/text/vocabulary.h"

#include <limits>

#include "tessera/base/utf8.h"

namespace tessera {

void Vocabulary::reserve(std::size_t tokens) {
  ids_.reserve(tokens);
  tokens_.reserve(tokens);
}

void Vocabulary::add(std::string token, std::int64_t id) {
  if (id < 0 || id > std::numeric_limits<std::int32_t>::max())
    fail(Errc::kCorrupt, "the token '{}' has the id {}", printable(token), id);
  const auto narrow = static_cast<std::int32_t>(id);
  const auto it = ids_.insert_or_assign(std::move(token), narrow).first;
  tokens_[narrow] = &it->first;
}

std::optional<std::int32_t> Vocabulary::find(std::string_view token) const {
  const auto it = ids_.find(token);
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

const std::string* Vocabulary::token(std::int32_t id) const {
  const auto it = tokens_.find(id);
  return it == tokens_.end() ? nullptr : it->second;
}

}  // namespace tessera
