// Metaspace: spaces become a mark, one is put before the text, and words are cut before the mark.
#pragma once
#include "tessera/text/metaspace.h"
#include "tessera/text/pre_tokenizer.h"

namespace tessera::pre_tokenizers {

class Metaspace final : public PreTokenizer {
 public:
  Metaspace(std::string mark, MetaspacePrefix prefix, bool split)
      : mark_(std::move(mark)), prefix_(prefix), split_(split) {}

  void pre_tokenize(Pieces& pieces) const override {
    pieces.rewrite([&](const AlignedText& text, const Piece& piece, AlignedText& into) {
      const std::string_view words = std::string_view(text.text()).substr(piece.begin, piece.end - piece.begin);
      const bool wanted = prefix_ == MetaspacePrefix::kAlways ||
                          (prefix_ == MetaspacePrefix::kFirst && text.origin(piece.begin).begin == 0);
      if (wanted && !words.starts_with(' ') && !words.starts_with(mark_)) into.append(mark_, text.origin(piece.begin));
      for (std::size_t at = piece.begin; at < piece.end; ++at) {
        if (text.text()[at] == ' ') {
          into.append(mark_, text.origin(at));
        } else {
          into.append(text, at, at + 1);
        }
      }
    });
    if (!split_) return;
    const char32_t mark = read_code_point(mark_, 0).value;
    cut_at(pieces, SplitBehavior::kMergedWithNext, [&](char32_t c) { return c == mark; });
  }

 private:
  std::string mark_;
  MetaspacePrefix prefix_;
  bool split_;
};

inline std::unique_ptr<PreTokenizer> make_metaspace(const Json& json) {
  return std::make_unique<Metaspace>(metaspace_mark(json), metaspace_prefix(json), bool_field(json, "split", true));
}
inline constexpr PreTokenizerKind metaspace{"Metaspace", &make_metaspace};

}  // namespace tessera::pre_tokenizers
