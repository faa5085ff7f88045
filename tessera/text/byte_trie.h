// ByteTrie: strings by their prefixes.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/text/flat_map.h"

namespace tessera {

class ByteTrie final {
 public:
  // value: zero or more. A string that is there keeps its first value.
  void insert(std::string_view text, std::int32_t value) {
    std::uint32_t node = 0;
    for (const char c : text) {
      const auto fresh = static_cast<std::uint32_t>(values_.size());
      node = edges_.insert(edge(node, c), fresh);
      if (node == fresh) values_.push_back(-1);
    }
    if (values_[node] < 0) values_[node] = value;
  }

  // found(length, value) for each string that `text` begins with, shortest first.
  template <class Found>
  void for_each_prefix(std::string_view text, const Found& found) const {
    std::uint32_t node = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const std::uint32_t* next = edges_.find(edge(node, text[at]));
      if (next == nullptr) return;
      node = *next;
      if (values_[node] >= 0) found(at + 1, values_[node]);
    }
  }

 private:
  static std::uint64_t edge(std::uint32_t node, char c) {
    return std::uint64_t{node} << 8 | static_cast<std::uint8_t>(c);
  }
  FlatMap<std::uint32_t> edges_;
  std::vector<std::int32_t> values_{-1};  // of each node
};

}  // namespace tessera
