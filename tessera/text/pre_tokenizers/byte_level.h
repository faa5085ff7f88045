// ByteLevel: words as GPT-2 cuts them, each byte as a character of the byte alphabet.
#pragma once
#include <optional>

#include "tessera/text/byte_alphabet.h"
#include "tessera/text/pre_tokenizer.h"

namespace tessera::pre_tokenizers {

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex) : add_prefix_space_(add_prefix_space) {
    if (use_regex)
      words_ = Pattern::regex(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  }

  void pre_tokenize(Pieces& pieces) const override {
    if (add_prefix_space_) {
      pieces.rewrite([](const AlignedText& text, const Piece& piece, AlignedText& into) {
        if (text.text()[piece.begin] != ' ') into.append(" ", text.origin(piece.begin));
        into.append(text, piece.begin, piece.end);
      });
    }
    if (words_) {
      std::vector<Segment> segments;
      pieces.cut([&](std::string_view text, std::vector<PiecePart>& parts) {
        segments.clear();
        words_->segments(text, segments);
        append_parts(segments, SplitBehavior::kIsolated, parts);
      });
    }
    pieces.rewrite([](const AlignedText& text, const Piece& piece, AlignedText& into) {
      for (std::size_t at = piece.begin; at < piece.end; ++at)
        into.append(byte_symbol_utf8(static_cast<std::uint8_t>(text.text()[at])), text.origin(at));
    });
  }

 private:
  bool add_prefix_space_;
  std::optional<Pattern> words_;
};

inline std::unique_ptr<PreTokenizer> make_byte_level(const Json& json) {
  return std::make_unique<ByteLevel>(bool_field(json, "add_prefix_space", true), bool_field(json, "use_regex", true));
}
inline constexpr PreTokenizerKind byte_level{"ByteLevel", &make_byte_level};

}  // namespace tessera::pre_tokenizers
