// Encoding: a text as tokens: their ids, and which bytes of the text each of them stands for.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/text/aligned_text.h"

namespace tessera {

struct Encoding {
  std::vector<std::int32_t> ids;
  std::vector<ByteRange> offsets;  // {0, 0}: a token that a post-processor added

  void add(std::int32_t id, ByteRange offset) {
    ids.push_back(id);
    offsets.push_back(offset);
  }
};

}  // namespace tessera
