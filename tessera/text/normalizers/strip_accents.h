// StripAccents: marks vanish: those that combine, enclose or stand beside.
#pragma once
#include "tessera/text/normalizer.h"
#include "tessera/text/unicode.h"

namespace tessera::normalizers {

class StripAccents final : public Normalizer {
 public:
  void normalize(AlignedText& text) const override {
    AlignedText plain = text.successor();
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = read_code_point(text.text(), at);
      if (!is_mark(c.value)) plain.append(text, at, at + c.bytes);
      at += c.bytes;
    }
    text = std::move(plain);
  }
};

inline std::unique_ptr<Normalizer> make_strip_accents(const Json& json) {
  static_cast<void>(json);
  return std::make_unique<StripAccents>();
}
inline constexpr NormalizerKind strip_accents{"StripAccents", &make_strip_accents};

}  // namespace tessera::normalizers
