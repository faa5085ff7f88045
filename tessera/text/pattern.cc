#include "tessera/text/pattern.h"

#include <algorithm>
#include <array>
#include <optional>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/text/unicode.h"

namespace tessera {
namespace {

constexpr std::size_t kMaxExpression = 65536;  // bytes
// A pattern that is no trap goes over a text a few times: `\s*[\r\n]+` takes spaces one by one, and gives them back.
constexpr std::size_t kMatchesAlways = 1'000'000, kMatchesOfByte = 16;
constexpr std::uint32_t kDepthLimit = 100'000;
// Ruby's ^ and $ stand at every line.
constexpr std::uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
constexpr std::uint32_t kHeapLimit = 64 * 1024;  // KiB

// Writes out \s, \w, \d and \h as Oniguruma's sets, inside and outside brackets.
class Translator final {
 public:
  explicit Translator(std::string_view expression) : expression_(expression) {}

  std::string translate() {
    while (at_ < expression_.size()) {
      if (expression_[at_] == '\\' && at_ + 1 < expression_.size()) {
        escape(expression_[at_ + 1]);
        at_ += 2;
      } else if (in_set_) {
        member();
      } else {
        if (expression_[at_] == '[')
          open_set();
        else
          out_ += expression_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  void copy(std::size_t bytes) {
    out_ += expression_.substr(at_, bytes);
    at_ += bytes;
  }
  bool follows(std::string_view text) const { return expression_.substr(at_).starts_with(text); }

  void open_set() {
    in_set_ = true;
    copy(1);
    if (follows("^")) copy(1);
    if (follows("]")) copy(1);  // a member
  }

  void member() {
    if (follows("[:")) {
      return posix_class();
    }
    require(!follows("[") && !follows("&&"), Errc::kUnsupported, "the pattern '{}' has brackets within brackets, or &&",
            printable(expression_));
    in_set_ = !follows("]");
    copy(1);
  }

  // [:alpha:] and the like, of which PCRE2 has others.
  void posix_class() {
    struct Class {
      std::string_view name, members;
    };
    constexpr std::array kClasses = {Class{"[:alpha:]", "\\p{Alphabetic}"},
                                     Class{"[:alnum:]", "\\p{Alphabetic}\\p{Nd}"},
                                     Class{"[:digit:]", "\\p{Nd}"},
                                     Class{"[:space:]", "\\p{White_Space}"},
                                     Class{"[:upper:]", "\\p{Uppercase}"},
                                     Class{"[:lower:]", "\\p{Lowercase}"},
                                     Class{"[:punct:]", "\\p{P}\\p{S}"},
                                     Class{"[:blank:]", "\\p{Zs}\\t"},
                                     Class{"[:cntrl:]", "\\p{Cc}"},
                                     Class{"[:xdigit:]", "0-9a-fA-F"},
                                     Class{"[:word:]", kWord}};
    for (const Class& c : kClasses) {
      if (!follows(c.name)) continue;
      out_ += c.members;
      at_ += c.name.size();
      return;
    }
    fail(Errc::kUnsupported, "the pattern '{}' has a class of characters that is not known", printable(expression_));
  }

  void escape(char kind) {
    switch (kind) {
      case 's':
        out_ += "\\p{White_Space}";
        break;
      case 'S':
        out_ += "\\P{White_Space}";
        break;
      case 'd':
        out_ += "\\p{Nd}";
        break;
      case 'D':
        out_ += "\\P{Nd}";
        break;
      case 'w':
      case 'W':
        // Outside brackets Oniguruma asks Latin-1's table first, where fractions and superscripts are word characters.
        set(in_set_ ? std::string(kWord) : std::string(kWord) + "\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}", kind);
        break;
      case 'h':
      case 'H':
        set("0-9a-fA-F", kind);
        break;
      case 'b':
      case 'B':
        if (in_set_) {
          out_ += expression_.substr(at_, 2);
        } else {
          boundary(kind == 'b');
        }
        break;
      default:
        out_ += expression_.substr(at_, 2);
    }
  }

  void set(std::string_view members, char kind) {
    const bool negated = kind < 'a';
    require(!(negated && in_set_), Errc::kUnsupported, "the pattern '{}' has \\{} inside brackets",
            printable(expression_), kind);
    out_ += in_set_ ? std::string(members) : fmt::format("[{}{}]", negated ? "^" : "", members);
  }

  // Between a word character and another one, or not.
  void boundary(bool wanted) {
    const std::string behind = fmt::format("[{}])", kWord);
    const auto both = [&](std::string_view before, std::string_view after) {
      return fmt::format("(?<{}{}(?{}{}", before, behind, after, behind);
    };
    out_ += fmt::format("(?:{}|{})", both("=", wanted ? "!" : "="), both("!", wanted ? "=" : "!"));
  }

  static constexpr std::string_view kWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";

  std::string_view expression_;
  std::size_t at_ = 0;
  bool in_set_ = false;
  std::string out_;
};

}  // namespace

struct Pattern::Regex {
  std::string expression;
  pcre2_code* code = nullptr;

  ~Regex() { pcre2_code_free(code); }
};

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

Pattern::Pattern(const Json& json) {
  if (const Json* literal = json.find("String")) {
    literal_ = literal->as_string();
    return;
  }
  const Json* expression = json.find("Regex");
  require(expression != nullptr, Errc::kCorrupt, "a pattern is {{\"String\": ...}} or {{\"Regex\": ...}}; {} is there",
          printable(json.dump()));
  *this = regex(expression->as_string());
}

Pattern Pattern::regex(std::string_view expression) {
  require(expression.size() <= kMaxExpression, Errc::kCorrupt, "a pattern of {} bytes; {} are read", expression.size(),
          kMaxExpression);
  Pattern pattern;
  pattern.regex_ = std::make_unique<Regex>();
  Regex& regex = *pattern.regex_;
  regex.expression = Translator(expression).translate();
  int error = 0;
  PCRE2_SIZE at = 0;
  regex.code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(regex.expression.data()), regex.expression.size(), kOptions,
                             &error, &at, nullptr);
  if (regex.code == nullptr) {
    unsigned char text[256] = {};
    pcre2_get_error_message(error, text, sizeof text);
    fail(Errc::kCorrupt, "the pattern '{}' is malformed at {}: {}", printable(regex.expression, 1000), at,
         reinterpret_cast<const char*>(text));
  }
  pcre2_jit_compile(regex.code, PCRE2_JIT_COMPLETE);  // where it may not, matching is slower and the same
  return pattern;
}

namespace {

// The matches of one text, from left to right.
class Matcher final {
 public:
  Matcher(const pcre2_code* code, std::string_view text)
      : code_(code),
        text_(text),
        context_(pcre2_match_context_create(nullptr)),
        data_(pcre2_match_data_create_from_pattern(code, nullptr)) {
    require(context_ != nullptr && data_ != nullptr, Errc::kResource, "out of memory");
    const std::size_t limit = std::min<std::size_t>(kMatchesAlways + kMatchesOfByte * text.size(), 0xFFFFFFFF);
    pcre2_set_match_limit(context_, static_cast<std::uint32_t>(limit));
    pcre2_set_depth_limit(context_, kDepthLimit);
    pcre2_set_heap_limit(context_, kHeapLimit);
  }
  ~Matcher() {
    pcre2_match_data_free(data_);
    pcre2_match_context_free(context_);
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // The first match from `at` on; none: there is no other one. Throws kCorrupt when it takes too long.
  std::optional<Segment> next(std::size_t at, const std::string& expression) {
    int found = match(at, PCRE2_NO_UTF_CHECK);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match(at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
    if (found < 0)
      fail(Errc::kCorrupt, "the pattern '{}' takes too long on '{}'", printable(expression),
           printable(text_.substr(at), 40));
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data_);
    if (range[0] < at || range[1] < range[0])  // \K in a look-around
      fail(Errc::kCorrupt, "the pattern '{}' matches backwards", printable(expression));
    return Segment{static_cast<std::uint32_t>(range[0]), static_cast<std::uint32_t>(range[1]), true};
  }

 private:
  int match(std::size_t at, std::uint32_t options) {
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), at, options, data_, context_);
  }

  const pcre2_code* code_;
  std::string_view text_;
  pcre2_match_context* context_;
  pcre2_match_data* data_;
};

}  // namespace

void Pattern::segments(std::string_view text, std::vector<Segment>& into) const {
  std::size_t done = 0;
  const auto add = [&](std::size_t begin, std::size_t end) {
    if (done < begin) into.push_back({static_cast<std::uint32_t>(done), static_cast<std::uint32_t>(begin), false});
    into.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), true});
    done = end;
  };
  if (regex_ != nullptr) {
    Matcher matcher(regex_->code, text);
    std::size_t last_end = std::string_view::npos;
    for (std::size_t at = 0; at <= text.size();) {
      const std::optional<Segment> match = matcher.next(at, regex_->expression);
      if (!match) break;
      const bool is_empty = match->begin == match->end;
      if (!is_empty || match->begin != last_end) add(match->begin, match->end);  // none right behind another one
      at = last_end = match->end;
      if (is_empty) at += at < text.size() ? read_code_point(text, at).bytes : 1;
    }
  } else if (!literal_.empty()) {
    for (std::size_t at = text.find(literal_); at != std::string_view::npos; at = text.find(literal_, done))
      add(at, at + literal_.size());
  }
  if (done < text.size())
    into.push_back({static_cast<std::uint32_t>(done), static_cast<std::uint32_t>(text.size()), false});
}

}  // namespace tessera
