// Pattern: what a tokenizer.json looks for in a text: {"String": s} or {"Regex": r}.
// Regular expressions are Oniguruma's (Ruby syntax), run by PCRE2: \s, \w, \d are written out as the sets that
// Oniguruma has. Patterns come from outside: matching is bounded. Source: Oniguruma's doc/RE.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"

namespace tessera {

// Segments cover a text without gaps, in order.
struct Segment {
  std::uint32_t begin = 0, end = 0;
  bool is_match = false;
};

class Pattern final {
 public:
  // Throws kCorrupt for what is no pattern; kUnsupported for a construct that PCRE2 would read in another way.
  explicit Pattern(const Json& json);
  static Pattern regex(std::string_view expression);
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  // Appends the segments of the text; matches do not overlap. Throws kCorrupt when matching takes too long.
  void segments(std::string_view text, std::vector<Segment>& into) const;

 private:
  struct Regex;
  Pattern() = default;
  std::string literal_;
  std::unique_ptr<Regex> regex_;
};

}  // namespace tessera
