// The patterns in which configurations name modules.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace tessera {

// A regular expression as Python's re.match applies it: anchored at the beginning of the name only. Bounded in length
// and in backtracking, since it comes from a file: a pattern that is malformed, longer than 4096 bytes or too costly
// throws kCorrupt.
class Regex final {
 public:
  explicit Regex(std::string_view pattern);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  bool matches_at_start(std::string_view name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A shell pattern as Python's fnmatch has it: `*` crosses dots, `?` is one character, `[ab]`, `[!ab]` and ranges are
// sets.
bool glob_matches(std::string_view pattern, std::string_view name);

}  // namespace tessera
