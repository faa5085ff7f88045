// Digits: numbers apart from the rest; each digit by itself where `individual_digits` says so.
#pragma once
#include "tessera/text/pre_tokenizer.h"

namespace tessera::pre_tokenizers {

class Digits final : public PreTokenizer {
 public:
  explicit Digits(bool individual) : individual_(individual) {}

  void pre_tokenize(Pieces& pieces) const override {
    cut_at(pieces, individual_ ? SplitBehavior::kIsolated : SplitBehavior::kContiguous, is_numeric);
  }

 private:
  bool individual_;
};

inline std::unique_ptr<PreTokenizer> make_digits(const Json& json) {
  return std::make_unique<Digits>(bool_field(json, "individual_digits", false));
}
inline constexpr PreTokenizerKind digits{"Digits", &make_digits};

}  // namespace tessera::pre_tokenizers
