// Whitespace: words, and what stands between them; white space vanishes.
#pragma once
#include "tessera/text/pre_tokenizer.h"

namespace tessera::pre_tokenizers {

class Whitespace final : public PreTokenizer {
 public:
  void pre_tokenize(Pieces& pieces) const override {
    enum class Class { kSpace, kWord, kOther };
    const auto class_of = [](char32_t c) {
      if (is_white_space(c)) return Class::kSpace;
      return is_word(c) ? Class::kWord : Class::kOther;
    };
    pieces.cut([&](std::string_view text, std::vector<PiecePart>& parts) {
      Class before = Class::kSpace;
      for (std::uint32_t at = 0; at < text.size();) {
        const CodePoint c = read_code_point(text, at);
        const Class here = class_of(c.value);
        if (here != Class::kSpace) {
          if (here == before) {
            parts.back().end = at + c.bytes;
          } else {
            parts.push_back({at, at + c.bytes});
          }
        }
        before = here;
        at += c.bytes;
      }
    });
  }
};

inline std::unique_ptr<PreTokenizer> make_whitespace(const Json& json) {
  static_cast<void>(json);
  return std::make_unique<Whitespace>();
}
inline constexpr PreTokenizerKind whitespace{"Whitespace", &make_whitespace};

}  // namespace tessera::pre_tokenizers
