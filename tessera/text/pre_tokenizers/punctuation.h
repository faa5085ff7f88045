// Punctuation: at punctuation.
#pragma once
#include "tessera/text/pre_tokenizer.h"

namespace tessera::pre_tokenizers {

class Punctuation final : public PreTokenizer {
 public:
  explicit Punctuation(SplitBehavior behavior) : behavior_(behavior) {}

  void pre_tokenize(Pieces& pieces) const override { cut_at(pieces, behavior_, is_punctuation); }

 private:
  SplitBehavior behavior_;
};

inline std::unique_ptr<PreTokenizer> make_punctuation(const Json& json) {
  return std::make_unique<Punctuation>(parse_split_behavior(string_field(json, "behavior", "Isolated")));
}
inline constexpr PreTokenizerKind punctuation{"Punctuation", &make_punctuation};

}  // namespace tessera::pre_tokenizers
