// PrefixStore: texts that were read before, kept as long as the cache has room, so that another text with the same
// beginning does not read it again. Law (1) makes what is reused equal to what would be computed, bit for bit.
#pragma once
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "tessera/infer/language_engine.h"

namespace tessera {

class PrefixStore final {
 public:
  explicit PrefixStore(LanguageEngine& engine) : engine_(engine) {}

  // A sequence with the longest stored beginning of `ids`, in whole pages, and at least one id left to read.
  Sequence find(std::span<const std::int32_t> ids);
  // Keeps a sequence that has read `ids` (at least as many as its length).
  void keep(std::vector<std::int32_t> ids, Sequence sequence);
  // Lets the oldest go until the cache has this many free pages, or nothing is left.
  void make_room(std::int64_t pages);
  void clear() { texts_.clear(); }
  std::size_t size() const { return texts_.size(); }

 private:
  struct Text {
    std::vector<std::int32_t> ids;
    Sequence sequence;
  };
  static constexpr std::size_t kMost = 64;  // texts; they are compared one by one
  LanguageEngine& engine_;
  std::list<Text> texts_;  // the last used first
};

}  // namespace tessera
