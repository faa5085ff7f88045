#include <algorithm>
#include <array>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/text/jinja/arguments.h"
#include "tessera/text/jinja/brace_format.h"
#include "tessera/text/jinja/filters.h"
#include "tessera/text/jinja/markup.h"
#include "tessera/text/jinja/operators.h"
#include "tessera/text/jinja/percent_format.h"
#include "tessera/text/jinja/text_operations.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

template <auto change>
Value change_case(Machine& m, const Value& value, Arguments a) {
  const Bound b("filter", std::move(a), {});
  return change(m.text_of(value));
}

// As the filter has it: words begin behind white space, -, (, {, [ and <.
std::string title_words(const std::string& text) {
  std::string out;
  bool begins = true;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    const std::string_view one = std::string_view(text).substr(at, c.bytes);
    const bool separates = is_python_space(c.value) ||
                           (c.value < 0x80 && std::string_view("-({[<").find(text[at]) != std::string_view::npos);
    out += separates ? std::string(one) : begins ? to_upper(one) : to_lower(one);
    begins = separates;
    at += c.bytes;
  }
  return out;
}

std::string lower_text(const std::string& text) { return to_lower(text); }
std::string upper_text(const std::string& text) { return to_upper(text); }
std::string capitalize_text(const std::string& text) { return capitalize(text); }

Value center(Machine& m, const Value& value, Arguments a) {
  return pad(m.budget(), m.text_of(value), Bound("center", std::move(a), {"width"}).count(0, 80), " ", Side::kBoth);
}

Value escape(Machine& m, const Value& value, Arguments a) {
  const Bound b("escape", std::move(a), {});
  return value.is_markup() ? value : Value::markup(escape_markup(m.text_of(value)));
}
Value force_escape(Machine& m, const Value& value, Arguments a) {
  const Bound b("forceescape", std::move(a), {});
  return Value::markup(escape_markup(m.text_of(value)));
}
Value safe(Machine& m, const Value& value, Arguments a) {
  const Bound b("safe", std::move(a), {});
  return Value::markup(m.text_of(value));
}
Value as_string(Machine& m, const Value& value, Arguments a) {
  const Bound b("string", std::move(a), {});
  return value.is_text() ? value : Value(m.text_of(value));
}

Value format(Machine& m, const Value& value, Arguments a) {
  require(a.positional.empty() || a.named.empty(), Errc::kInvalid,
          "can't handle positional and keyword arguments at the same time");
  if (a.named.empty())
    return percent_format(m, m.text_of(value), Value::list(std::move(a.positional), SequenceKind::kTuple));
  Pairs pairs;
  for (auto& [name, argument] : a.named) pairs.emplace_back(Value(name), std::move(argument));
  return percent_format(m, m.text_of(value), Value::dict(std::move(pairs)));
}

Value indent(Machine& m, const Value& value, Arguments a) {
  const Bound b("indent", std::move(a), {"width", "first", "blank"});
  const bool is_prefix = b.has(0) && b.value(0).is_text();
  const std::size_t width = is_prefix ? 0 : b.count(0, 4);
  m.budget().require_text(width);
  const std::string prefix = is_prefix ? b.value(0).text() : std::string(width, ' ');
  const bool blank = b.flag(2, false);
  std::string text = m.text_of(value) + "\n";  // so that a last empty line counts
  const Values lines = split_lines(text, false);
  std::string out = b.flag(1, false) ? prefix : "";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i > 0 && (blank || !lines[i].text().empty())) out += prefix;
    out += lines[i].text();
    m.budget().require_text(out.size());
  }
  return out;
}

Value replace_filter(Machine& m, const Value& value, Arguments a) {
  const Bound b("replace", std::move(a), {"old", "new", "count"});
  const std::size_t most = b.integer(2, -1) < 0 ? kNoLimit : b.count(2, 0);
  return replace(m.budget(), m.text_of(value), m.text_of(b.required(0)), m.text_of(b.required(1)), most);
}

Value trim(Machine& m, const Value& value, Arguments a) {
  const Bound b("trim", std::move(a), {"chars"});
  std::optional<std::string> characters;
  if (b.has(0) && !b.value(0).is_none()) characters = b.required_text(0);
  std::string text = strip(m.text_of(value), characters, Side::kBoth);
  return value.is_markup() ? Value::markup(std::move(text)) : Value(std::move(text));
}

Value truncate(Machine& m, const Value& value, Arguments a) {
  const Bound b("truncate", std::move(a), {"length", "killwords", "end", "leeway"});
  const std::string text = m.text_of(value), end = b.text(2, "...");
  const std::size_t length = b.count(0, 255), leeway = b.count(3, 5), end_length = count_code_points(end);
  require(length >= end_length, Errc::kInvalid, "expected length >= {}, got {}", end_length, length);
  if (count_code_points(text) <= length + leeway) return text;
  std::string kept = text.substr(0, byte_of_code_point(text, length - end_length));
  if (!b.flag(1, false)) {
    const std::size_t space = kept.rfind(' ');
    if (space != std::string::npos) kept.resize(space);
  }
  return kept + end;
}

Value count_words(Machine& m, const Value& value, Arguments a) {
  const Bound b("wordcount", std::move(a), {});
  const std::string text = m.text_of(value);
  Integer count = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    const bool word = c.value == '_' || is_alphabetic(c.value) || is_numeric(c.value);
    count += word && !in_word ? 1 : 0;
    in_word = word;
    at += c.bytes;
  }
  return count;
}

constexpr std::array kFilters = {
    Filter{"capitalize", change_case<capitalize_text>},
    Filter{"center", center},
    Filter{"e", escape},
    Filter{"escape", escape},
    Filter{"forceescape", force_escape},
    Filter{"format", format},
    Filter{"indent", indent},
    Filter{"lower", change_case<lower_text>},
    Filter{"replace", replace_filter},
    Filter{"safe", safe},
    Filter{"string", as_string},
    Filter{"title", change_case<title_words>},
    Filter{"trim", trim},
    Filter{"truncate", truncate},
    Filter{"upper", change_case<upper_text>},
    Filter{"wordcount", count_words},
};

}  // namespace

std::span<const Filter> text_filters() { return kFilters; }

}  // namespace tessera::jinja
