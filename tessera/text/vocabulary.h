// Vocabulary: tokens and their ids.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tessera/base/error.h"

namespace tessera {

class Vocabulary final {
 public:
  void reserve(std::size_t tokens);
  // Throws kCorrupt for an id that is no int32 of zero or more. A token that is there gets the later id.
  void add(std::string token, std::int64_t id);

  std::size_t size() const { return ids_.size(); }  // different tokens
  std::optional<std::int32_t> find(std::string_view token) const;
  const std::string* token(std::int32_t id) const;  // null: there is none

  template <class Each>
  void for_each(const Each& each) const {
    for (const auto& [token, id] : ids_) each(token, id);
  }

 private:
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the name that the standard looks for
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // Pointers to keys stay valid in a node-based map.
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  std::unordered_map<std::int32_t, const std::string*> tokens_;
};

}  // namespace tessera
