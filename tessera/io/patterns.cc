#include "tessera/io/patterns.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tessera/base/error.h"

namespace tessera {

struct Regex::Impl {
  std::string pattern;
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_match_data* match = nullptr;
  ~Impl() {
    pcre2_match_data_free(match);
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
};

Regex::Regex(std::string_view pattern) : impl_(std::make_unique<Impl>()) {
  require(pattern.size() <= 4096, Errc::kCorrupt, "a pattern of {} bytes; 4096 are read", pattern.size());
  impl_->pattern = pattern;
  int error = 0;
  PCRE2_SIZE at = 0;
  impl_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_ANCHORED | PCRE2_UTF,
                              &error, &at, nullptr);
  if (impl_->code == nullptr) {
    unsigned char text[256] = {};
    pcre2_get_error_message(error, text, sizeof text);
    fail(Errc::kCorrupt, "the pattern '{}' is malformed at {}: {}", pattern, at, reinterpret_cast<const char*>(text));
  }
  pcre2_jit_compile(impl_->code, PCRE2_JIT_COMPLETE);  // where it may not, matching is slower and the same
  impl_->context = pcre2_match_context_create(nullptr);
  impl_->match = pcre2_match_data_create_from_pattern(impl_->code, nullptr);
  require(impl_->context != nullptr && impl_->match != nullptr, Errc::kResource, "out of memory");
  pcre2_set_match_limit(impl_->context, 100'000);
  pcre2_set_depth_limit(impl_->context, 10'000);
}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

bool Regex::matches_at_start(std::string_view name) const {
  const auto match = [&](std::uint32_t options) {
    return pcre2_match(impl_->code, reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(), 0, options, impl_->match,
                       impl_->context);
  };
  int found = match(0);
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match(PCRE2_NO_JIT);
  require(found >= 0 || found == PCRE2_ERROR_NOMATCH, Errc::kCorrupt, "the pattern '{}' takes too long on '{}'",
          impl_->pattern, name);
  return found >= 0;
}

namespace {

// Whether the set that begins at pattern[i] == '[' holds c; moves i behind it. No closing bracket: '[' stands for
// itself.
bool set_holds(std::string_view pattern, std::size_t& i, char c) {
  std::size_t close = i + 1;
  if (close < pattern.size() && pattern[close] == '!') ++close;
  if (close < pattern.size() && pattern[close] == ']') ++close;
  close = pattern.find(']', close);
  if (close == std::string_view::npos) {
    ++i;
    return c == '[';
  }
  std::size_t at = i + 1;
  const bool negated = pattern[at] == '!';
  if (negated) ++at;
  bool holds = false;
  while (at < close) {
    const bool range = at + 2 < close && pattern[at + 1] == '-';
    holds = holds || (range ? pattern[at] <= c && c <= pattern[at + 2] : pattern[at] == c);
    at += range ? 3 : 1;
  }
  i = close + 1;
  return holds != negated;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    std::size_t next = p + 1;
    bool fits = false;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
      continue;
    }
    if (p < pattern.size() && pattern[p] == '[') {
      next = p;
      fits = set_holds(pattern, next, name[n]);
    } else {
      fits = p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]);
    }
    if (fits) {
      p = next;
      ++n;
    } else if (star != std::string_view::npos) {  // let the last star take one character more
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace tessera
