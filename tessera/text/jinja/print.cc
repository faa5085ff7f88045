#include "tessera/text/jinja/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "tessera/base/error.h"
#include "tessera/text/jinja/operators.h"
#include "tessera/text/jinja/string_literal.h"
#include "tessera/text/merge_sort.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {
namespace {

constexpr int kMaxPrinted = 150;  // levels of nested values

class ReprPrinter final {
 public:
  explicit ReprPrinter(Machine& machine) : machine_(machine) {}

  void print(const Value& value, int depth) {
    machine_.budget().step();
    machine_.budget().require_text(out_.size());
    require(depth <= kMaxPrinted, Errc::kResource, "a value that is nested too deep is printed");
    if (value.is_none())
      out_ += "None";
    else if (value.is_undefined())
      out_ += "Undefined";
    else if (value.is_bool())
      out_ += value.is_true() ? "True" : "False";
    else if (value.is_integer())
      out_ += decimal_of(*value.integer());
    else if (value.is_float())
      out_ += float_repr(*value.number());
    else if (value.is_text())
      out_ += value.is_markup() ? "Markup(" + repr_of(value.text()) + ")" : repr_of(value.text());
    else if (const Dict* dict = value.dict())
      print_dict(*dict, depth);
    else if (const Sequence* sequence = value.sequence())
      print_sequence(*sequence, depth);
    else
      out_ += value.object()->repr(machine_);
  }
  std::string take() { return std::move(out_); }

 private:
  static std::string repr_of(std::string_view text) { return jinja::repr_of(text); }

  void print_dict(const Dict& dict, int depth) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, item] : dict.pairs) {
      if (!first) out_ += ", ";
      first = false;
      print(key, depth + 1);
      out_ += ": ";
      print(item, depth + 1);
    }
    out_ += '}';
  }

  void print_sequence(const Sequence& sequence, int depth) {
    if (sequence.kind == SequenceKind::kRange || sequence.kind == SequenceKind::kIterator) {
      out_ += sequence.kind == SequenceKind::kRange ? sequence.label : "<generator object>";
      return;
    }
    const bool is_tuple = sequence.kind == SequenceKind::kTuple, is_view = sequence.kind == SequenceKind::kView;
    if (is_view) out_ += sequence.label + "(";
    out_ += is_tuple ? '(' : '[';
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) out_ += ", ";
      print(sequence.items[i], depth + 1);
    }
    if (is_tuple && sequence.items.size() == 1) out_ += ',';
    out_ += is_tuple ? ')' : ']';
    if (is_view) out_ += ")";
  }

  Machine& machine_;
  std::string out_;
};

class JsonPrinter final {
 public:
  JsonPrinter(Machine& machine, const JsonStyle& style) : machine_(machine), style_(style) {}

  void print(const Value& value, int depth) {
    machine_.budget().step();
    machine_.budget().require_text(out_.size());
    require(depth <= kMaxPrinted, Errc::kResource, "a value that is nested too deep is printed");
    const Sequence* sequence = value.sequence();
    if (value.is_none())
      out_ += "null";
    else if (value.is_number())
      out_ += number_text(value);
    else if (value.is_text())
      print_text(value.text());
    else if (const Dict* dict = value.dict())
      print_dict(*dict, depth);
    else if (sequence != nullptr && (sequence->kind == SequenceKind::kList || sequence->kind == SequenceKind::kTuple))
      print_list(*sequence, depth);
    else
      fail(Errc::kInvalid, "Object of type {} is not JSON serializable", value.type_name());
  }
  std::string take() { return std::move(out_); }

 private:
  static std::string number_text(const Value& value) {
    if (value.is_bool()) return value.is_true() ? "true" : "false";
    if (value.is_integer()) return decimal_of(*value.integer());
    const double d = *value.number();
    if (std::isnan(d)) return "NaN";
    return std::isinf(d) ? (d > 0 ? "Infinity" : "-Infinity") : float_repr(d);
  }

  void break_line(int depth) {
    if (!style_.indent) return;
    machine_.budget().require_text(out_.size() + *style_.indent * static_cast<std::size_t>(depth));
    out_ += '\n';
    out_.append(*style_.indent * static_cast<std::size_t>(depth), ' ');
  }

  void print_list(const Sequence& list, int depth) {
    out_ += '[';
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      break_line(depth + 1);
      print(list.items[i], depth + 1);
    }
    if (!list.items.empty()) break_line(depth);
    out_ += ']';
  }

  static std::string key_text(const Value& key) {
    if (key.is_text()) return key.text();
    if (key.is_none()) return "null";
    require(key.is_number(), Errc::kInvalid, "keys must be str, int, float, bool or None, not {}", key.type_name());
    return number_text(key);
  }

  void print_dict(const Dict& dict, int depth) {
    Pairs pairs = dict.pairs;
    if (style_.sorted)
      merge_sort(std::span(pairs),
                 [&](const auto& a, const auto& b) { return order_of(machine_.budget(), a.first, b.first) < 0; });
    out_ += '{';
    bool first = true;
    for (const auto& [key, item] : pairs) {
      if (!first) out_ += style_.item_separator;
      first = false;
      break_line(depth + 1);
      print_text(key_text(key));
      out_ += style_.key_separator;
      print(item, depth + 1);
    }
    if (!pairs.empty()) break_line(depth);
    out_ += '}';
  }

  void print_text(std::string_view text) {
    out_ += '"';
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = read_code_point(text, at);
      constexpr std::string_view kFrom = "\"\\\b\f\n\r\t", kTo = "\"\\bfnrt";
      const std::size_t special = c.value < 0x80 ? kFrom.find(static_cast<char>(c.value)) : std::string_view::npos;
      const auto code = static_cast<std::uint32_t>(c.value);
      if (special != std::string_view::npos) {
        out_ += '\\';
        out_ += kTo[special];
      } else if (code < 0x20 || (style_.ascii && code >= 0x7F && code < 0x10000)) {
        out_ += fmt::format("\\u{:04x}", code);
      } else if (style_.ascii && code >= 0x10000) {
        out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF));
      } else {
        out_ += text.substr(at, c.bytes);
      }
      at += c.bytes;
    }
    out_ += '"';
  }

  Machine& machine_;
  const JsonStyle& style_;
  std::string out_;
};

}  // namespace

std::string decimal_of(Integer value) {
  const bool negative = value < 0;
  std::string digits;
  do {
    const auto digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (negative ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double a = std::abs(value);
  const bool fixed = a == 0 || (a >= 1e-4 && a < 1e16);
  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof text, value, fixed ? std::chars_format::fixed : std::chars_format::scientific);
  std::string digits(text, end.ptr);
  if (fixed && digits.find('.') == std::string::npos) digits += ".0";
  return digits;
}

std::string json_of(Machine& machine, const Value& value, const JsonStyle& style) {
  JsonPrinter printer(machine, style);
  printer.print(value, 0);
  return printer.take();
}

std::string Machine::text_of(const Value& value) {
  if (value.is_text()) return value.text();
  if (value.is_undefined()) return "";
  return repr_of(value);
}

std::string Machine::repr_of(const Value& value) {
  ReprPrinter printer(*this);
  printer.print(value, 0);
  return printer.take();
}

}  // namespace tessera::jinja
