#include <algorithm>
#include <array>

#include "tessera/base/error.h"
#include "tessera/text/pre_tokenizer.h"

namespace tessera {
namespace {

struct NamedBehavior {
  std::string_view name;
  SplitBehavior behavior;
};
constexpr std::array kBehaviors = {
    NamedBehavior{"Removed", SplitBehavior::kRemoved},
    NamedBehavior{"Isolated", SplitBehavior::kIsolated},
    NamedBehavior{"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
    NamedBehavior{"MergedWithNext", SplitBehavior::kMergedWithNext},
    NamedBehavior{"Contiguous", SplitBehavior::kContiguous},
};

// A match that follows text is added to it; a match after a match stands alone.
void append_merged_with_previous(const std::vector<Segment>& segments, std::vector<PiecePart>& parts) {
  bool after_match = false, first = true;
  for (const Segment& s : segments) {
    if (s.is_match && !after_match && !first) {
      parts.back().end = s.end;
    } else {
      parts.push_back({s.begin, s.end});
    }
    after_match = s.is_match;
    first = false;
  }
}

void append_merged_with_next(const std::vector<Segment>& segments, std::vector<PiecePart>& parts) {
  const auto start = static_cast<std::ptrdiff_t>(parts.size());
  bool before_match = false, last = true;
  for (auto s = segments.rbegin(); s != segments.rend(); ++s) {
    if (s->is_match && !before_match && !last) {
      parts.back().begin = s->begin;
    } else {
      parts.push_back({s->begin, s->end});
    }
    before_match = s->is_match;
    last = false;
  }
  std::reverse(parts.begin() + start, parts.end());
}

}  // namespace

SplitBehavior parse_split_behavior(std::string_view name) {
  std::string names;
  for (const NamedBehavior& named : kBehaviors) {
    if (named.name == name) return named.behavior;
    names.append(names.empty() ? "" : ", ").append(named.name);
  }
  fail(Errc::kCorrupt, "no split behavior '{}'; there are: {}", printable(name), names);
}

void append_parts(const std::vector<Segment>& segments, SplitBehavior behavior, std::vector<PiecePart>& parts) {
  switch (behavior) {
    case SplitBehavior::kRemoved:
      for (const Segment& s : segments)
        if (!s.is_match) parts.push_back({s.begin, s.end});
      return;
    case SplitBehavior::kIsolated:
      for (const Segment& s : segments) parts.push_back({s.begin, s.end});
      return;
    case SplitBehavior::kMergedWithPrevious:
      return append_merged_with_previous(segments, parts);
    case SplitBehavior::kMergedWithNext:
      return append_merged_with_next(segments, parts);
    case SplitBehavior::kContiguous:
      for (std::size_t i = 0; i < segments.size(); ++i) {
        if (i > 0 && segments[i].is_match == segments[i - 1].is_match) {
          parts.back().end = segments[i].end;
        } else {
          parts.push_back({segments[i].begin, segments[i].end});
        }
      }
  }
}

}  // namespace tessera
