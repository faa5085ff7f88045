// WhitespaceSplit: at white space, which vanishes.
#pragma once
#include "tessera/text/pre_tokenizer.h"

namespace tessera::pre_tokenizers {

class WhitespaceSplit final : public PreTokenizer {
 public:
  void pre_tokenize(Pieces& pieces) const override { cut_at(pieces, SplitBehavior::kRemoved, is_white_space); }
};

inline std::unique_ptr<PreTokenizer> make_whitespace_split(const Json& json) {
  static_cast<void>(json);
  return std::make_unique<WhitespaceSplit>();
}
inline constexpr PreTokenizerKind whitespace_split{"WhitespaceSplit", &make_whitespace_split};

}  // namespace tessera::pre_tokenizers
