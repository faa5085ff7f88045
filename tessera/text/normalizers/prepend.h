// Prepend: a text before every text that is not empty.
#pragma once
#include "tessera/text/normalizer.h"

namespace tessera::normalizers {

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}

  void normalize(AlignedText& text) const override {
    if (text.empty()) return;
    AlignedText longer = text.successor();
    longer.append(prefix_, text.origin(0));
    longer.append(text, 0, text.size());
    text = std::move(longer);
  }

 private:
  std::string prefix_;
};

inline std::unique_ptr<Normalizer> make_prepend(const Json& json) {
  return std::make_unique<Prepend>(string_field(json, "prepend"));
}
inline constexpr NormalizerKind prepend{"Prepend", &make_prepend};

}  // namespace tessera::normalizers
