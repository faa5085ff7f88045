// Normalizer: changes a text before it is cut: composes accents, lowers case, marks spaces.
// Source: the tokenizers library, which the fixtures of tests/data/text come from.
#pragma once
#include <memory>

#include "tessera/base/json.h"
#include "tessera/text/aligned_text.h"
#include "tessera/text/part_kind.h"

namespace tessera {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void normalize(AlignedText& text) const = 0;
};
using NormalizerKind = PartKind<Normalizer>;

// kUnsupported for an unknown kind, listing those there are; kCorrupt for wrong fields.
std::unique_ptr<Normalizer> make_normalizer(const Json& json);

}  // namespace tessera
