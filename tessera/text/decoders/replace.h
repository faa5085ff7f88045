// Replace: each match of a pattern by a text, in each token.
#pragma once
#include "tessera/text/decoder.h"
#include "tessera/text/pattern.h"

namespace tessera::decoders {

class Replace final : public Decoder {
 public:
  Replace(Pattern pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void decode(std::vector<std::string>& tokens) const override {
    std::vector<Segment> segments;
    for (std::string& token : tokens) {
      segments.clear();
      pattern_.segments(token, segments);
      std::string text;
      for (const Segment& s : segments) text += s.is_match ? content_ : token.substr(s.begin, s.end - s.begin);
      token = std::move(text);
    }
  }

 private:
  Pattern pattern_;
  std::string content_;
};

inline std::unique_ptr<Decoder> make_replace(const Json& json) {
  return std::make_unique<Replace>(Pattern(field(json, "pattern")), string_field(json, "content"));
}
inline constexpr DecoderKind replace{"Replace", &make_replace};

}  // namespace tessera::decoders
