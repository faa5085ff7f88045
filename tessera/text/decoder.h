// Decoder: turns tokens back into text.
// Source: the tokenizers library, which the fixtures of tests/data/text come from.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/text/part_kind.h"

namespace tessera {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Changes the tokens; the text is what they are when joined.
  virtual void decode(std::vector<std::string>& tokens) const = 0;
};
using DecoderKind = PartKind<Decoder>;

// kUnsupported for an unknown kind, listing those there are; kCorrupt for wrong fields.
std::unique_ptr<Decoder> make_decoder(const Json& json);

}  // namespace tessera
