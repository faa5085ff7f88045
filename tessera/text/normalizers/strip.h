// Strip: white space at the ends vanishes.
#pragma once
#include "tessera/text/normalizer.h"
#include "tessera/text/unicode.h"

namespace tessera::normalizers {

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  void normalize(AlignedText& text) const override {
    std::size_t begin = 0, end = text.size();
    while (left_ && begin < end) {
      const CodePoint c = read_code_point(text.text(), begin);
      if (!is_white_space(c.value)) break;
      begin += c.bytes;
    }
    while (right_ && begin < end) {
      const std::size_t last = code_point_before(text.text(), end);
      if (!is_white_space(read_code_point(text.text(), last).value)) break;
      end = last;
    }
    AlignedText stripped = text.successor();
    stripped.append(text, begin, end);
    text = std::move(stripped);
  }

 private:
  bool left_, right_;
};

inline std::unique_ptr<Normalizer> make_strip(const Json& json) {
  return std::make_unique<Strip>(bool_field(json, "strip_left", true), bool_field(json, "strip_right", true));
}
inline constexpr NormalizerKind strip{"Strip", &make_strip};

}  // namespace tessera::normalizers
