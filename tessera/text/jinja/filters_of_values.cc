// Numbers, defaults, attributes, JSON.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/text/jinja/arguments.h"
#include "tessera/text/jinja/filters.h"
#include "tessera/text/jinja/operators.h"
#include "tessera/text/jinja/print.h"
#include "tessera/text/jinja/text_operations.h"

namespace tessera::jinja {
namespace {

Value absolute(Machine&, const Value& value, Arguments a) {
  const Bound b("abs", std::move(a), {});
  if (value.is_undefined()) fail_undefined(value);
  require(value.is_number(), Errc::kInvalid, "bad operand type for abs(): '{}'", value.type_name());
  if (const auto i = value.integer()) return *i < 0 ? apply_sign("-", value) : Value(*i);
  return std::abs(*value.number());
}

Value attribute(Machine& m, const Value& value, Arguments a) {
  const std::string name = Bound("attr", std::move(a), {"name"}).required_text(0);
  if (value.is_undefined()) fail_undefined(value);
  // Attributes only: entries of a dict are none.
  if (value.dict() == nullptr) return attribute_of(m, value, name);
  const Value found = attribute_of(m, Value::dict({}), name);
  return found.is_undefined() ? found : attribute_of(m, value, name);
}

Value otherwise(Machine&, const Value& value, Arguments a) {
  const Bound b("default", std::move(a), {"default_value", "boolean"});
  const bool absent = value.is_undefined() || (b.flag(1, false) && !value.is_true());
  return absent ? b.value(0, "") : value;
}

// The text of a number as Python's int() and float() take it: white space around, underscores between digits.
std::optional<std::string> number_text(const Value& value) {
  std::string text = strip(value.text(), std::nullopt, Side::kBoth);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') continue;
    const auto is_digit_at = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
    if (i == 0 || !is_digit_at(i - 1) || !is_digit_at(i + 1)) return std::nullopt;
  }
  std::erase(text, '_');
  if (text.starts_with('+') && !text.starts_with("+-")) text.erase(0, 1);
  return text;
}

std::optional<double> parse_float(const Value& value) {
  const std::optional<std::string> text = number_text(value);
  if (!text || text->empty()) return std::nullopt;
  double number = 0;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), number);
  if (read.ptr != text->data() + text->size() || read.ec == std::errc::invalid_argument) return std::nullopt;
  return number;
}

std::optional<Integer> truncated(double number) {
  if (!(number > -1e38 && number < 1e38)) return std::nullopt;
  return static_cast<Integer>(number);
}

std::optional<Integer> parse_integer(const Value& value, int base) {
  const std::optional<std::string> text = number_text(value);
  if (!text || text->empty()) return std::nullopt;
  std::string_view digits = *text;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  const char prefix = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : static_cast<char>(0);
  if (prefix != 0 && digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == prefix) digits.remove_prefix(2);
  if (digits.empty()) return std::nullopt;
  Integer number = 0;
  for (const char c : digits) {
    const int lower = c | 0x20;
    const int digit = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
    if (digit >= base || __builtin_mul_overflow(number, Integer{base}, &number) ||
        __builtin_add_overflow(number, Integer{digit}, &number))
      return std::nullopt;
  }
  return negative ? -number : number;
}

Value to_integer(Machine&, const Value& value, Arguments a) {
  const Bound b("int", std::move(a), {"default", "base"});
  const Integer base = b.integer(1, 10);
  require(base >= 2 && base <= 36, Errc::kInvalid, "int() base must be >= 2 and <= 36");
  if (value.is_text()) {
    if (const auto number = parse_integer(value, static_cast<int>(base))) return *number;
    if (const auto number = parse_float(value))
      if (const auto whole = truncated(*number)) return *whole;
  } else if (const auto i = value.integer()) {
    return *i;
  } else if (const auto number = value.number()) {
    if (const auto whole = truncated(*number)) return *whole;
  }
  return b.value(0, 0);
}

Value to_float(Machine&, const Value& value, Arguments a) {
  const Bound b("float", std::move(a), {"default"});
  if (value.is_text()) {
    if (const auto number = parse_float(value)) return *number;
  } else if (const auto number = value.number()) {
    return *number;
  }
  return b.value(0, 0.0);
}

// Halves go to the even neighbour, as Python's round; the decimals are those that the number prints with.
double round_half_even(double number, int precision) {
  if (!std::isfinite(number) || precision > 300 || precision < -300) return number;
  if (precision < 0) {
    const double scale = std::pow(10.0, -precision);
    return std::nearbyint(number / scale) * scale;
  }
  // The exact decimal expansion of the double decides: printf rounds it correctly, ties to even.
  const std::string digits = fmt::format("{:.{}f}", number, precision);
  double rounded = number;
  std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
  return rounded;
}

Value round_number(Machine&, const Value& value, Arguments a) {
  const Bound b("round", std::move(a), {"precision", "method"});
  const std::string method = b.text(1, "common");
  const auto precision = static_cast<int>(std::clamp(b.integer(0, 0), Integer{-300}, Integer{300}));
  require(method == "common" || method == "ceil" || method == "floor", Errc::kInvalid,
          "method must be common, ceil or floor");
  if (value.is_undefined()) fail_undefined(value);
  require(value.is_number(), Errc::kInvalid, "type {} doesn't define __round__ method", value.type_name());
  if (method == "common" && value.integer() && precision >= 0) return *value.integer();
  const double number = *value.number();
  if (method == "common") return round_half_even(number, precision);
  const double scale = std::pow(10.0, precision);
  return (method == "ceil" ? std::ceil(number * scale) : std::floor(number * scale)) / scale;
}

// transformers: json.dumps(value, ensure_ascii=False, indent=..., separators=..., sort_keys=...).
Value to_json(Machine& m, const Value& value, Arguments a) {
  const Bound b("tojson", std::move(a), {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style{.ascii = b.flag(0, false), .sorted = b.flag(3, false)};
  if (!b.value(1).is_none()) {
    style.indent = b.count(1, 0);
    m.budget().require_text(*style.indent);
  }
  style.item_separator = style.indent ? "," : ", ";
  style.key_separator = ": ";
  if (!b.value(2).is_none()) {
    const Values separators = m.items_of(b.value(2));
    require(separators.size() == 2, Errc::kInvalid, "separators are two texts");
    style.item_separator = m.text_of(separators[0]);
    style.key_separator = m.text_of(separators[1]);
  }
  return json_of(m, value, style);
}

constexpr std::array kFilters = {
    Filter{"abs", absolute},   Filter{"attr", attribute}, Filter{"d", otherwise},        Filter{"default", otherwise},
    Filter{"float", to_float}, Filter{"int", to_integer}, Filter{"round", round_number}, Filter{"tojson", to_json},
};

}  // namespace

std::span<const Filter> value_filters() { return kFilters; }

}  // namespace tessera::jinja
