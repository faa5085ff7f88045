// PreTokenizer: cuts a text into the pieces that the model turns into tokens one by one.
// Source: the tokenizers library, which the fixtures of tests/data/text come from.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/text/aligned_text.h"
#include "tessera/text/part_kind.h"
#include "tessera/text/pattern.h"

namespace tessera {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void pre_tokenize(Pieces& pieces) const = 0;
};
using PreTokenizerKind = PartKind<PreTokenizer>;

// kUnsupported for an unknown kind, listing those there are; kCorrupt for wrong fields.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Json& json);

// What becomes of a match that cuts a text.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
SplitBehavior parse_split_behavior(std::string_view name);  // "Removed"...; kCorrupt
// Appends the parts into which segments that cover a piece cut it.
void append_parts(const std::vector<Segment>& segments, SplitBehavior behavior, std::vector<PiecePart>& parts);

// Cuts at single code points: those of which matches(c) is true. Each is a match of its own.
template <class Matches>
void cut_at(Pieces& pieces, SplitBehavior behavior, const Matches& matches);

}  // namespace tessera

#include "tessera/text/unicode.h"

namespace tessera {

template <class Matches>
void cut_at(Pieces& pieces, SplitBehavior behavior, const Matches& matches) {
  std::vector<Segment> segments;
  pieces.cut([&](std::string_view text, std::vector<PiecePart>& parts) {
    segments.clear();
    std::uint32_t done = 0;
    for (std::uint32_t at = 0; at < text.size();) {
      const CodePoint c = read_code_point(text, at);
      if (matches(c.value)) {
        if (done < at) segments.push_back({done, at, false});
        segments.push_back({at, at + c.bytes, true});
        done = at + c.bytes;
      }
      at += c.bytes;
    }
    if (done < text.size()) segments.push_back({done, static_cast<std::uint32_t>(text.size()), false});
    append_parts(segments, behavior, parts);
  });
}

}  // namespace tessera
