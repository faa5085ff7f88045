#include "tessera/text/jinja/methods.h"

#include <algorithm>
#include <array>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/text/jinja/arguments.h"
#include "tessera/text/jinja/brace_format.h"
#include "tessera/text/jinja/objects.h"
#include "tessera/text/jinja/operators.h"
#include "tessera/text/jinja/text_operations.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

using Body = Value (*)(Machine&, const Value& self, Arguments);
struct Method {
  std::string_view name;
  Body body;
};

std::optional<std::string> text_or_none(const Bound& b, std::size_t i) {
  if (!b.has(i) || b.value(i).is_none()) return std::nullopt;
  return b.required_text(i);
}
std::size_t limit_of(const Bound& b, std::size_t i) { return b.integer(i, -1) < 0 ? kNoLimit : b.count(i, 0); }

template <Side side>
Value strip_method(Machine&, const Value& self, Arguments a) {
  const Bound b("strip", std::move(a), {"chars"});
  return strip(self.text(), text_or_none(b, 0), side);
}

template <auto cut>
Value split_method(Machine&, const Value& self, Arguments a) {
  const Bound b("split", std::move(a), {"sep", "maxsplit"});
  return Value::list(cut(self.text(), text_or_none(b, 0), limit_of(b, 1)));
}

template <auto change>
Value case_method(Machine&, const Value& self, Arguments a) {
  const Bound b("case", std::move(a), {});
  std::string text = change(self.text());
  return self.is_markup() ? Value::markup(std::move(text)) : Value(std::move(text));
}

template <Side side>
Value pad_method(Machine& m, const Value& self, Arguments a) {
  const Bound b("just", std::move(a), {"width", "fillchar"});
  b.required(0);
  return pad(m.budget(), self.text(), b.count(0, 0), b.text(1, " "), side);
}

// begin and end, in bytes, of the stretch in which a search takes place.
std::pair<std::size_t, std::size_t> stretch(const std::string& text, const Bound& b) {
  const auto length = static_cast<Integer>(count_code_points(text));
  const auto at = [&](std::size_t i, Integer otherwise) {
    const Integer n = b.integer(i, otherwise);
    return byte_of_code_point(text, static_cast<std::size_t>(std::clamp(n < 0 ? n + length : n, Integer{0}, length)));
  };
  return {at(1, 0), at(2, length)};
}

template <bool from_right>
std::optional<std::size_t> find_text(const Value& self, const Bound& b) {
  const std::string part = b.required_text(0);
  const auto [begin, end] = stretch(self.text(), b);
  if (begin > end) return std::nullopt;
  const std::string_view text = std::string_view(self.text()).substr(begin, end - begin);
  const std::size_t found = from_right ? text.rfind(part) : text.find(part);
  if (found == std::string_view::npos) return std::nullopt;
  return count_code_points(std::string_view(self.text()).substr(0, begin + found));
}

template <bool from_right, bool must_be_there>
Value find_method(Machine&, const Value& self, Arguments a) {
  const Bound b("find", std::move(a), {"sub", "start", "end"});
  const std::optional<std::size_t> at = find_text<from_right>(self, b);
  require(at.has_value() || !must_be_there, Errc::kInvalid, "substring not found");
  return at ? Value::of_size(*at) : Value(-1);
}

Value count_text(Machine&, const Value& self, Arguments a) {
  const Bound b("count", std::move(a), {"sub", "start", "end"});
  const std::string part = b.required_text(0);
  const auto [begin, end] = stretch(self.text(), b);
  if (begin > end) return 0;
  const std::string_view text = std::string_view(self.text()).substr(begin, end - begin);
  if (part.empty()) return Value::of_size(count_code_points(text) + 1);
  Integer count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

template <bool at_end>
Value affix_method(Machine& m, const Value& self, Arguments a) {
  const Bound b("startswith", std::move(a), {"prefix", "start", "end"});
  const auto [begin, end] = stretch(self.text(), b);
  if (begin > end) return false;
  const std::string_view text = std::string_view(self.text()).substr(begin, end - begin);
  const Sequence* several = b.required(0).sequence();
  const Values affixes = several != nullptr ? m.items_of(b.required(0)) : Values{b.required_text(0)};
  return std::any_of(affixes.begin(), affixes.end(), [&](const Value& affix) {
    require(affix.is_text(), Errc::kInvalid, "startswith first arg must be str or a tuple of str, not {}",
            affix.type_name());
    return at_end ? text.ends_with(affix.text()) : text.starts_with(affix.text());
  });
}

template <bool at_end>
Value remove_affix(Machine&, const Value& self, Arguments a) {
  const std::string affix = Bound("removeprefix", std::move(a), {"prefix"}).required_text(0);
  const std::string& text = self.text();
  if (at_end ? !text.ends_with(affix) : !text.starts_with(affix)) return text;
  return at_end ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size());
}

template <bool from_right>
Value partition(Machine&, const Value& self, Arguments a) {
  const std::string separator = Bound("partition", std::move(a), {"sep"}).required_text(0);
  require(!separator.empty(), Errc::kInvalid, "empty separator");
  const std::string& text = self.text();
  const std::size_t at = from_right ? text.rfind(separator) : text.find(separator);
  if (at == std::string::npos)
    return Value::list(from_right ? Values{"", "", text} : Values{text, "", ""}, SequenceKind::kTuple);
  return Value::list({text.substr(0, at), separator, text.substr(at + separator.size())}, SequenceKind::kTuple);
}

template <auto holds>
Value all_method(Machine&, const Value& self, Arguments a) {
  const Bound b("is", std::move(a), {});
  const std::string& text = self.text();
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    if (!holds(c.value)) return false;
    at += c.bytes;
  }
  return !text.empty();
}

bool is_alphanumeric(char32_t c) { return is_alphabetic(c) || is_numeric(c); }
bool is_seven_bits(char32_t c) { return c < 0x80; }

// All cased characters are of the case, and there is one.
template <auto is_case, auto is_other>
Value case_test(Machine&, const Value& self, Arguments a) {
  const Bound b("is", std::move(a), {});
  bool any = false;
  for (std::size_t at = 0; at < self.text().size();) {
    const CodePoint c = read_code_point(self.text(), at);
    if (is_other(c.value)) return false;
    any = any || is_case(c.value);
    at += c.bytes;
  }
  return any;
}

Value replace_method(Machine& m, const Value& self, Arguments a) {
  const Bound b("replace", std::move(a), {"old", "new", "count"});
  return replace(m.budget(), self.text(), b.required_text(0), b.required_text(1), limit_of(b, 2));
}

Value join_method(Machine& m, const Value& self, Arguments a) {
  const Bound b("join", std::move(a), {"iterable"});
  std::string text;
  bool first = true;
  for (const Value& item : m.items_of(b.required(0))) {
    if (item.is_undefined()) fail_undefined(item);
    require(item.is_text(), Errc::kInvalid, "sequence item: expected str instance, {} found", item.type_name());
    if (!first) text += self.text();
    first = false;
    text += item.text();
    m.budget().require_text(text.size());
  }
  return text;
}

Value zfill(Machine& m, const Value& self, Arguments a) {
  const Bound b("zfill", std::move(a), {"width"});
  b.required(0);
  const std::string& text = self.text();
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  const std::size_t width = b.count(0, 0);
  if (!has_sign) return pad(m.budget(), text, width, "0", Side::kRight);
  return text.substr(0, 1) + pad(m.budget(), text.substr(1), width > 0 ? width - 1 : 0, "0", Side::kRight);
}

Value expand_tabs(Machine& m, const Value& self, Arguments a) {
  const std::size_t width = Bound("expandtabs", std::move(a), {"tabsize"}).count(0, 8);
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < self.text().size();) {
    const CodePoint c = read_code_point(self.text(), at);
    if (c.value == '\t') {
      const std::size_t spaces = width == 0 ? 0 : width - column % width;
      m.budget().require_text(out.size() + spaces);
      out.append(spaces, ' ');
      column += spaces;
    } else {
      out += self.text().substr(at, c.bytes);
      column = c.value == '\n' || c.value == '\r' ? 0 : column + 1;
    }
    at += c.bytes;
  }
  return out;
}

Value split_lines_method(Machine&, const Value& self, Arguments a) {
  return Value::list(split_lines(self.text(), Bound("splitlines", std::move(a), {"keepends"}).flag(0, false)));
}

Value format_method(Machine& m, const Value& self, Arguments a) { return brace_format(m, self.text(), std::move(a)); }

std::string plain_lower(const std::string& text) { return to_lower(text); }
std::string plain_upper(const std::string& text) { return to_upper(text); }
std::string plain_capitalize(const std::string& text) { return capitalize(text); }
std::string plain_title(const std::string& text) { return title(text); }
std::string plain_swap(const std::string& text) { return swap_case(text); }
std::string plain_fold(const std::string& text) { return to_folded(text); }

constexpr std::array kTextMethods = {
    Method{"capitalize", case_method<plain_capitalize>},
    Method{"casefold", case_method<plain_fold>},
    Method{"center", pad_method<Side::kBoth>},
    Method{"count", count_text},
    Method{"endswith", affix_method<true>},
    Method{"expandtabs", expand_tabs},
    Method{"find", find_method<false, false>},
    Method{"format", format_method},
    Method{"index", find_method<false, true>},
    Method{"isalnum", all_method<is_alphanumeric>},
    Method{"isalpha", all_method<is_alphabetic>},
    Method{"isascii", all_method<is_seven_bits>},
    Method{"isdecimal", all_method<is_decimal>},
    Method{"isdigit", all_method<is_digit>},
    Method{"islower", case_test<is_lower, is_upper>},
    Method{"isnumeric", all_method<is_numeric>},
    Method{"isspace", all_method<is_python_space>},
    Method{"isupper", case_test<is_upper, is_lower>},
    Method{"join", join_method},
    Method{"ljust", pad_method<Side::kLeft>},
    Method{"lower", case_method<plain_lower>},
    Method{"lstrip", strip_method<Side::kLeft>},
    Method{"partition", partition<false>},
    Method{"removeprefix", remove_affix<false>},
    Method{"removesuffix", remove_affix<true>},
    Method{"replace", replace_method},
    Method{"rfind", find_method<true, false>},
    Method{"rindex", find_method<true, true>},
    Method{"rjust", pad_method<Side::kRight>},
    Method{"rpartition", partition<true>},
    Method{"rsplit", split_method<split_from_right>},
    Method{"rstrip", strip_method<Side::kRight>},
    Method{"split", split_method<split>},
    Method{"splitlines", split_lines_method},
    Method{"startswith", affix_method<false>},
    Method{"strip", strip_method<Side::kBoth>},
    Method{"swapcase", case_method<plain_swap>},
    Method{"title", case_method<plain_title>},
    Method{"upper", case_method<plain_upper>},
    Method{"zfill", zfill},
};

Value get_method(Machine& m, const Value& self, Arguments a) {
  const Bound b("get", std::move(a), {"key", "default"});
  require_hashable(b.required(0));
  const Value* found = find_key(m.budget(), *self.dict(), b.required(0));
  return found != nullptr ? *found : b.value(1);
}

enum class View { kItems, kKeys, kValues };
template <View view>
Value view_method(Machine&, const Value& self, Arguments a) {
  const Bound b("items", std::move(a), {});
  Values items;
  for (const auto& [key, value] : self.dict()->pairs) {
    if (view == View::kItems) items.push_back(Value::list({key, value}, SequenceKind::kTuple));
    if (view == View::kKeys) items.push_back(key);
    if (view == View::kValues) items.push_back(value);
  }
  constexpr std::string_view kLabels[] = {"dict_items", "dict_keys", "dict_values"};
  return Value::list(std::move(items), SequenceKind::kView, std::string(kLabels[static_cast<int>(view)]));
}

Value copy_method(Machine&, const Value& self, Arguments a) {
  const Bound b("copy", std::move(a), {});
  return self;
}

constexpr std::array kDictMethods = {
    Method{"copy", copy_method},
    Method{"get", get_method},
    Method{"items", view_method<View::kItems>},
    Method{"keys", view_method<View::kKeys>},
    Method{"values", view_method<View::kValues>},
};

Value index_method(Machine& m, const Value& self, Arguments a) {
  const Bound b("index", std::move(a), {"value"});
  const Values& items = self.sequence()->items;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (are_equal(m.budget(), items[i], b.required(0))) return Value::of_size(i);
  fail(Errc::kInvalid, "{} is not in list", m.repr_of(b.required(0)));
}

Value count_items(Machine& m, const Value& self, Arguments a) {
  const Bound b("count", std::move(a), {"value"});
  Integer count = 0;
  for (const Value& item : self.sequence()->items) count += are_equal(m.budget(), item, b.required(0)) ? 1 : 0;
  return count;
}

constexpr std::array kListMethods = {
    Method{"copy", copy_method},
    Method{"count", count_items},
    Method{"index", index_method},
};
constexpr std::array<std::string_view, 8> kListChanges = {"append", "clear", "pop",    "reverse",
                                                          "insert", "sort",  "extend", "remove"};
constexpr std::array<std::string_view, 5> kDictChanges = {"clear", "pop", "popitem", "setdefault", "update"};

template <class Table>
std::optional<Value> find_in(const Table& table, const Value& self, std::string_view name) {
  const auto it = std::find_if(table.begin(), table.end(), [&](const Method& method) { return method.name == name; });
  if (it == table.end()) return std::nullopt;
  return Value(std::static_pointer_cast<Object>(std::make_shared<Function>(
      "method", [self, body = it->body](Machine& m, Arguments a) { return body(m, self, std::move(a)); })));
}

template <class Table>
bool has_name(const Table& table, std::string_view name) {
  return std::find(table.begin(), table.end(), name) != table.end();
}

}  // namespace

std::optional<Value> method_of(const Value& value, std::string_view name) {
  const Sequence* sequence = value.sequence();
  const bool is_list = sequence != nullptr && sequence->kind == SequenceKind::kList;
  const bool is_dunder = name.size() > 4 && name.starts_with("__") && name.ends_with("__");
  if (is_dunder || (is_list && has_name(kListChanges, name)) ||
      (value.dict() != nullptr && has_name(kDictChanges, name)))
    return Value::undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, value.type_name()));
  if (value.is_text()) return find_in(kTextMethods, value, name);
  if (value.dict() != nullptr) return find_in(kDictMethods, value, name);
  if (is_list || (sequence != nullptr && sequence->kind == SequenceKind::kTuple && name != "copy"))
    return find_in(kListMethods, value, name);
  return std::nullopt;
}

}  // namespace tessera::jinja
