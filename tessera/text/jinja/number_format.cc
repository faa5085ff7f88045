#include "tessera/text/jinja/number_format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/text/jinja/operators.h"
#include "tessera/text/jinja/print.h"
#include "tessera/text/jinja/text_operations.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {
namespace {

constexpr std::size_t kMaxPrecision = 1000;

std::size_t read_number(std::string_view& text) {
  std::size_t n = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    n = n * 10 + static_cast<std::size_t>(text[0] - '0');
    require(n <= 100'000'000, Errc::kInvalid, "Too many decimal digits in format string");
    text.remove_prefix(1);
  }
  return n;
}

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

std::string grouped(std::string digits, char group, std::size_t by) {
  const std::size_t end = std::min(digits.find('.'), digits.find('e'));
  std::size_t at = end == std::string::npos ? digits.size() : end;
  while (at > by) {
    at -= by;
    digits.insert(at, 1, group);
  }
  return digits;
}

std::string integer_digits(Integer value, const FormatSpec& spec) {
  // The magnitude of the smallest integer does not fit; digits of negative remainders do.
  const int base = spec.type == 'x' || spec.type == 'X' ? 16 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 10;
  std::string digits;
  do {
    const int digit = static_cast<int>(value % base);
    digits += "0123456789abcdef"[digit < 0 ? -digit : digit];
    value /= base;
  } while (value != 0);
  std::reverse(digits.begin(), digits.end());
  if (spec.type == 'X') digits = to_upper(digits);
  if (spec.group != 0) digits = grouped(std::move(digits), spec.group, base == 10 ? 3 : 4);
  if (spec.alternate && base != 10) digits = std::string("0") + spec.type + digits;
  return digits;
}

std::string float_digits(double value, const FormatSpec& spec) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : "inf";
  if (spec.type == 0 && !spec.precision) return float_repr(std::abs(value));
  const std::size_t precision = spec.precision.value_or(6);
  require(precision <= kMaxPrecision, Errc::kInvalid, "a precision of {} digits", precision);
  const char type = spec.type == 0 ? 'g' : spec.type == '%' ? 'f' : spec.type;
  const std::string pattern = std::string(spec.alternate ? "%#.*" : "%.*") + type;
  const double magnitude = std::abs(spec.type == '%' ? value * 100 : value);
  std::string digits(400 + precision, '\0');
  const int length =
      std::snprintf(digits.data(), digits.size(), pattern.c_str(), static_cast<int>(precision), magnitude);
  digits.resize(static_cast<std::size_t>(length));
  if (spec.type == 0 && digits.find_first_of(".e") == std::string::npos) digits += ".0";
  if (spec.group != 0) digits = grouped(std::move(digits), spec.group, 3);
  return spec.type == '%' ? digits + "%" : digits;
}

std::string format_number(Machine& machine, const Value& value, const FormatSpec& spec) {
  constexpr std::string_view kIntegerTypes = "bdoxXn", kFloatTypes = "eEfFgG%";
  const bool as_float = value.is_float() || (spec.type != 0 && kFloatTypes.find(spec.type) != std::string_view::npos);
  require(spec.type == 0 || (as_float ? kFloatTypes : kIntegerTypes).find(spec.type) != std::string_view::npos,
          Errc::kInvalid, "Unknown format code '{}' for object of type '{}'", spec.type, value.type_name());
  const double number = *value.number();
  const std::string digits = as_float ? float_digits(number, spec) : integer_digits(*value.integer(), spec);
  const bool negative = as_float ? std::signbit(number) && !std::isnan(number) : *value.integer() < 0;
  const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.align != '=')
    return pad(machine.budget(), sign + digits, spec.width, spec.fill,
               spec.align == '<'   ? Side::kLeft
               : spec.align == '^' ? Side::kBoth
                                   : Side::kRight);
  const std::size_t width = spec.width > sign.size() ? spec.width - sign.size() : 0;
  return sign + pad(machine.budget(), digits, width, spec.fill, Side::kRight);
}

// Python centers a formatted text with the larger half on the right.
std::string centered(Machine& machine, const std::string& text, const FormatSpec& spec) {
  const std::size_t length = count_code_points(text);
  if (length >= spec.width) return text;
  const std::string left = pad(machine.budget(), text, length + (spec.width - length) / 2, spec.fill, Side::kRight);
  return pad(machine.budget(), left, spec.width, spec.fill, Side::kLeft);
}

}  // namespace

FormatSpec parse_format_spec(std::string_view text) {
  FormatSpec spec;
  const std::string_view whole = text;
  if (!text.empty()) {
    const std::uint32_t first = read_code_point(text, 0).bytes;
    if (text.size() > first && is_align(text[first])) {
      spec.fill = std::string(text.substr(0, first));
      spec.align = text[first];
      text.remove_prefix(first + 1);
    } else if (is_align(text[0])) {
      spec.align = text[0];
      text.remove_prefix(1);
    }
  }
  const auto skip = [&](char c) {
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
  };
  if (text.starts_with('+') || text.starts_with('-') || text.starts_with(' ')) {
    spec.sign = text[0];
    text.remove_prefix(1);
  }
  spec.alternate = skip('#');
  if (skip('0') && spec.align == 0) {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = read_number(text);
  if (text.starts_with(',') || text.starts_with('_')) {
    spec.group = text[0];
    text.remove_prefix(1);
  }
  if (skip('.')) {
    require(!text.empty() && text[0] >= '0' && text[0] <= '9', Errc::kInvalid, "Format specifier missing precision");
    spec.precision = read_number(text);
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  require(text.empty(), Errc::kInvalid, "Invalid format specifier '{}'", printable(whole));
  return spec;
}

std::string format_value(Machine& machine, const Value& value, const FormatSpec& spec) {
  if (value.is_undefined()) return "";
  const bool as_text = !value.is_number();
  if (!as_text) return format_number(machine, value, spec);
  require(spec.type == 0 || spec.type == 's', Errc::kInvalid, "Unknown format code '{}' for object of type '{}'",
          spec.type, value.type_name());
  require(spec.align != '=' || spec.fill == "0", Errc::kInvalid,
          "'=' alignment not allowed in string format specifier");
  std::string text = machine.text_of(value);
  if (spec.precision) text = text.substr(0, byte_of_code_point(text, *spec.precision));
  if (spec.align == '^') return centered(machine, text, spec);
  return pad(machine.budget(), text, spec.width, spec.fill, spec.align == '>' ? Side::kRight : Side::kLeft);
}

}  // namespace tessera::jinja
