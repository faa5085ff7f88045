// BertPreTokenizer: at white space, which vanishes, and at punctuation.
#pragma once
#include "tessera/text/pre_tokenizer.h"

namespace tessera::pre_tokenizers {

class Bert final : public PreTokenizer {
 public:
  void pre_tokenize(Pieces& pieces) const override {
    cut_at(pieces, SplitBehavior::kRemoved, is_white_space);
    cut_at(pieces, SplitBehavior::kIsolated, is_punctuation);
  }
};

inline std::unique_ptr<PreTokenizer> make_bert(const Json& json) {
  static_cast<void>(json);
  return std::make_unique<Bert>();
}
inline constexpr PreTokenizerKind bert{"BertPreTokenizer", &make_bert};

}  // namespace tessera::pre_tokenizers
