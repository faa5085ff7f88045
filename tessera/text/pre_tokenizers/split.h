// Split: at the matches of a pattern, or between them (invert).
#pragma once
#include "tessera/text/pre_tokenizer.h"

namespace tessera::pre_tokenizers {

class Split final : public PreTokenizer {
 public:
  Split(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void pre_tokenize(Pieces& pieces) const override {
    std::vector<Segment> segments;
    pieces.cut([&](std::string_view text, std::vector<PiecePart>& parts) {
      segments.clear();
      pattern_.segments(text, segments);
      for (Segment& s : segments) s.is_match = s.is_match != invert_;
      append_parts(segments, behavior_, parts);
    });
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

inline std::unique_ptr<PreTokenizer> make_split(const Json& json) {
  return std::make_unique<Split>(Pattern(field(json, "pattern")), parse_split_behavior(string_field(json, "behavior")),
                                 bool_field(json, "invert", false));
}
inline constexpr PreTokenizerKind split{"Split", &make_split};

}  // namespace tessera::pre_tokenizers
