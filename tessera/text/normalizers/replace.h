// Replace: each match of a pattern by a text, which has the origin of the last character that it replaces.
#pragma once
#include "tessera/text/normalizer.h"
#include "tessera/text/pattern.h"

namespace tessera::normalizers {

class Replace final : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void normalize(AlignedText& text) const override {
    std::vector<Segment> segments;
    pattern_.segments(text.text(), segments);
    AlignedText replaced = text.successor();
    for (const Segment& s : segments) {
      if (!s.is_match) {
        replaced.append(text, s.begin, s.end);
      } else if (!content_.empty()) {
        replaced.append(content_, origin_before(text, s.end));
      }
    }
    text = std::move(replaced);
  }

 private:
  static ByteRange origin_before(const AlignedText& text, std::size_t end) {
    if (end > 0) return text.origin(end - 1);
    return text.empty() ? ByteRange{} : ByteRange{text.origin(0).begin, text.origin(0).begin};
  }

  Pattern pattern_;
  std::string content_;
};

inline std::unique_ptr<Normalizer> make_replace(const Json& json) {
  return std::make_unique<Replace>(Pattern(field(json, "pattern")), string_field(json, "content"));
}
inline constexpr NormalizerKind replace{"Replace", &make_replace};

}  // namespace tessera::normalizers
