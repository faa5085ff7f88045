// Sequence: pre-tokenizers one after the other.
#pragma once
#include <vector>

#include "tessera/text/pre_tokenizer.h"

namespace tessera::pre_tokenizers {

class Sequence final : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}

  void pre_tokenize(Pieces& pieces) const override {
    for (const auto& step : steps_) step->pre_tokenize(pieces);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

inline std::unique_ptr<PreTokenizer> make_sequence(const Json& json) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (const Json& step : field(json, "pretokenizers").as_array()) steps.push_back(make_pre_tokenizer(step));
  return std::make_unique<Sequence>(std::move(steps));
}
inline constexpr PreTokenizerKind sequence{"Sequence", &make_sequence};

}  // namespace tessera::pre_tokenizers
