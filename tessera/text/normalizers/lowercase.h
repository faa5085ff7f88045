// Lowercase: each code point by itself.
#pragma once
#include "tessera/text/normalizer.h"
#include "tessera/text/unicode.h"

namespace tessera::normalizers {

class Lowercase final : public Normalizer {
 public:
  void normalize(AlignedText& text) const override {
    AlignedText lower = text.successor();
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = read_code_point(text.text(), at);
      lower.append(lower_of(c.value), text.origin(at));
      at += c.bytes;
    }
    text = std::move(lower);
  }
};

inline std::unique_ptr<Normalizer> make_lowercase(const Json& json) {
  static_cast<void>(json);
  return std::make_unique<Lowercase>();
}
inline constexpr NormalizerKind lowercase{"Lowercase", &make_lowercase};

}  // namespace tessera::normalizers
