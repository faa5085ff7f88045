#include "tessera/text/jinja/percent_format.h"

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/text/jinja/number_format.h"
#include "tessera/text/jinja/operators.h"
#include "tessera/text/jinja/print.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {
namespace {

class PercentFormatter final {
 public:
  PercentFormatter(Machine& machine, std::string_view text, const Value& values)
      : machine_(machine), text_(text), values_(values) {
    const Sequence* tuple = values.sequence();
    arguments_ = tuple != nullptr && tuple->kind == SequenceKind::kTuple ? tuple->items : Values{values};
  }

  std::string format() {
    std::string out;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c != '%') {
        out += c;
        continue;
      }
      out += conversion();
      machine_.budget().require_text(out.size());
    }
    require(used_ >= arguments_.size() || values_.dict() != nullptr || named_, Errc::kInvalid,
            "not all arguments converted during string formatting");
    return out;
  }

 private:
  char here() const {
    require(at_ < text_.size(), Errc::kInvalid, "incomplete format");
    return text_[at_];
  }

  Value next() {
    require(used_ < arguments_.size(), Errc::kInvalid, "not enough arguments for format string");
    return arguments_[used_++];
  }

  std::size_t number_or_star() {
    if (at_ < text_.size() && text_[at_] == '*') {
      ++at_;
      const Value width = next();
      require(width.integer().has_value() && *width.integer() >= 0 && *width.integer() < 100'000'000, Errc::kInvalid,
              "* wants int");
      return static_cast<std::size_t>(*width.integer());
    }
    std::size_t n = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      n = n * 10 + static_cast<std::size_t>(text_[at_++] - '0');
      require(n < 100'000'000, Errc::kInvalid, "width too big");
    }
    return n;
  }

  std::optional<Value> name() {
    if (here() != '(') return std::nullopt;
    const std::size_t close = text_.find(')', at_);
    require(close != std::string_view::npos, Errc::kInvalid, "incomplete format key");
    const std::string_view key = text_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    named_ = true;
    require(values_.dict() != nullptr, Errc::kInvalid, "format requires a mapping");
    const Value* value = find(*values_.dict(), key);
    require(value != nullptr, Errc::kInvalid, "the format lacks the key '{}'", printable(key));
    return *value;
  }

  // What stands behind a %.
  std::string conversion() {
    if (here() == '%') {
      ++at_;
      return "%";
    }
    std::optional<Value> value = name();
    FormatSpec spec;
    spec.align = '>';
    for (bool more = true; more;) {
      const char flag = here();
      if (flag == '-')
        spec.align = '<';
      else if (flag == '0' && spec.align != '<') {
        spec.align = '=';
        spec.fill = "0";
      } else if (flag == '+' || (flag == ' ' && spec.sign != '+'))
        spec.sign = flag;
      else if (flag == '#')
        spec.alternate = true;
      else
        more = false;
      if (more) ++at_;
    }
    spec.width = number_or_star();
    if (here() == '.') {
      ++at_;
      spec.precision = number_or_star();
    }
    while (here() == 'h' || here() == 'l' || here() == 'L') ++at_;
    const char type = text_[at_++];
    return convert(type, value ? *value : next(), std::move(spec));
  }

  std::string convert(char type, Value value, FormatSpec spec) {
    const auto as_text = [&](std::string text) {
      if (spec.fill == "0") spec = {.align = '>', .width = spec.width, .precision = spec.precision};
      return format_value(machine_, Value(std::move(text)), spec);
    };
    if (type == 's') return as_text(machine_.text_of(value));
    if (type == 'r') return as_text(machine_.repr_of(value));
    if (value.is_undefined()) fail_undefined(value);
    if (type == 'c') {
      if (value.is_text() && count_code_points(value.text()) == 1) return as_text(value.text());
      require(value.integer() && *value.integer() >= 0 && *value.integer() <= 0x10FFFF, Errc::kInvalid,
              "%c requires int or char");
      return as_text(utf8_of(static_cast<char32_t>(*value.integer())));
    }
    require(value.is_number(), Errc::kInvalid, "%{} format: a real number is required, not {}", type,
            value.type_name());
    constexpr std::string_view kIntegers = "diuxXo", kFloats = "eEfFgG";
    if (kIntegers.find(type) != std::string_view::npos) {
      if (value.is_float()) {
        require(*value.number() > -1e38 && *value.number() < 1e38, Errc::kInvalid, "a number is too large for %d");
        value = Value(static_cast<Integer>(*value.number()));
      }
      value = Value(*value.integer());
      spec.type = type == 'i' || type == 'u' ? 'd' : type;
      spec.precision.reset();
    } else {
      require(kFloats.find(type) != std::string_view::npos, Errc::kInvalid, "unsupported format character '{}'",
              printable(std::string_view(&type, 1)));
      value = Value(*value.number());
      spec.type = type;
    }
    return format_value(machine_, value, spec);
  }

  Machine& machine_;
  std::string_view text_;
  const Value& values_;
  Values arguments_;
  std::size_t at_ = 0, used_ = 0;
  bool named_ = false;
};

}  // namespace

std::string percent_format(Machine& machine, const std::string& text, const Value& values) {
  return PercentFormatter(machine, text, values).format();
}

}  // namespace tessera::jinja
