#include "tessera/text/jinja/operators.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/text/jinja/markup.h"
#include "tessera/text/jinja/methods.h"
#include "tessera/text/jinja/percent_format.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {
namespace {

constexpr int kMaxCompared = 200;  // levels of nested lists

[[noreturn]] void fail_operands(std::string_view op, const Value& left, const Value& right) {
  if (op == "+" && left.is_text())
    fail(Errc::kInvalid, "can only concatenate str (not \"{}\") to str", right.type_name());
  fail(Errc::kInvalid, "unsupported operand type(s) for {}: '{}' and '{}'", op, left.type_name(), right.type_name());
}

template <class Operation>
Value checked(Integer a, Integer b, const Operation& operation) {
  Integer result = 0;
  require(!operation(a, b, &result), Errc::kInvalid, "an integer is too large; integers have 127 bits here");
  return result;
}

Integer floor_divide(Integer a, Integer b) {
  const Integer q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

Value power(Integer base, Integer exponent) {
  if (exponent < 0) return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  Integer result = 1;
  for (; exponent > 0 && (base > 1 || base < -1 || exponent < 2); --exponent)
    require(!__builtin_mul_overflow(result, base, &result), Errc::kInvalid,
            "an integer is too large; integers have 127 bits here");
  if (exponent > 0) result = base == -1 && exponent % 2 != 0 ? -1 : base == 0 ? 0 : 1;
  return result;
}

Value integer_arithmetic(std::string_view op, Integer a, Integer b) {
  if (op == "+") return checked(a, b, [](auto x, auto y, auto* r) { return __builtin_add_overflow(x, y, r); });
  if (op == "-") return checked(a, b, [](auto x, auto y, auto* r) { return __builtin_sub_overflow(x, y, r); });
  if (op == "*") return checked(a, b, [](auto x, auto y, auto* r) { return __builtin_mul_overflow(x, y, r); });
  if (op == "**") return power(a, b);
  require(b != 0, Errc::kInvalid, "division by zero");
  if (op == "/") return static_cast<double>(a) / static_cast<double>(b);
  require(b != -1, Errc::kInvalid, "division by -1");
  return op == "//" ? floor_divide(a, b) : a - floor_divide(a, b) * b;
}

Value float_arithmetic(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "**") return std::pow(a, b);
  require(b != 0, Errc::kInvalid, "division by zero");
  if (op == "/") return a / b;
  if (op == "//") return std::floor(a / b);
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Value add_texts(Machine& machine, const Value& left, const Value& right) {
  machine.budget().require_text(left.text().size() + right.text().size());
  if (!left.is_markup() && !right.is_markup()) return left.text() + right.text();
  return Value::markup((left.is_markup() ? left.text() : escape_markup(left.text())) +
                       (right.is_markup() ? right.text() : escape_markup(right.text())));
}

Value repeat(Machine& machine, const Value& value, Integer count) {
  count = std::max(count, Integer{0});
  const auto limit = static_cast<Integer>(machine.budget().limits().text);
  require(count <= limit, Errc::kResource, "something is repeated too often");
  const auto times = static_cast<std::size_t>(count);
  if (value.is_text()) {
    machine.budget().require_text(value.text().size() * times);
    std::string text;
    text.reserve(value.text().size() * times);
    for (std::size_t i = 0; i < times; ++i) text += value.text();
    return text;
  }
  const Sequence& sequence = *value.sequence();
  machine.budget().make(sequence.items.size() * times * sizeof(Value));
  Values items;
  for (std::size_t i = 0; i < times; ++i) items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  return Value::list(std::move(items), sequence.kind);
}

bool is_list_or_tuple(const Value& value) {
  const Sequence* s = value.sequence();
  return s != nullptr && (s->kind == SequenceKind::kList || s->kind == SequenceKind::kTuple);
}

}  // namespace

void fail_undefined(const Value& value) { fail(Errc::kInvalid, "{}", value.undefined_message()); }

Value apply_binary(Machine& machine, std::string_view op, const Value& left, const Value& right) {
  if (left.is_undefined()) fail_undefined(left);
  if (op == "%" && left.is_text()) return percent_format(machine, left.text(), right);
  if (right.is_undefined() && !(op == "+" && is_list_or_tuple(left))) fail_undefined(right);
  const auto a = left.integer(), b = right.integer();
  if (a && b)
    return op == "%" && *b == -1    ? Value(0)
           : op == "//" && *b == -1 ? apply_sign("-", *a)
                                    : integer_arithmetic(op, *a, *b);
  if (left.is_number() && right.is_number()) return float_arithmetic(op, *left.number(), *right.number());
  if (op == "+" && left.is_text() && right.is_text()) return add_texts(machine, left, right);
  if (op == "+" && is_list_or_tuple(left) && is_list_or_tuple(right) &&
      left.sequence()->kind == right.sequence()->kind) {
    Values items = left.sequence()->items;
    items.insert(items.end(), right.sequence()->items.begin(), right.sequence()->items.end());
    return Value::list(std::move(items), left.sequence()->kind);
  }
  if (op == "*" && b && (left.is_text() || is_list_or_tuple(left))) return repeat(machine, left, *b);
  if (op == "*" && a && (right.is_text() || is_list_or_tuple(right))) return repeat(machine, right, *a);
  fail_operands(op, left, right);
}

Value apply_sign(std::string_view op, const Value& value) {
  if (value.is_undefined()) fail_undefined(value);
  if (const auto i = value.integer()) return op == "-" ? integer_arithmetic("-", 0, *i) : Value(*i);
  require(value.is_float(), Errc::kInvalid, "bad operand type for unary {}: '{}'", op, value.type_name());
  return op == "-" ? -*value.number() : *value.number();
}

bool are_equal(Budget& budget, const Value& left, const Value& right, int depth) {
  budget.step();
  require(depth <= kMaxCompared, Errc::kResource, "lists that are nested too deep are compared");
  if (left.is_undefined() || right.is_undefined()) return left.is_undefined() && right.is_undefined();
  if (left.is_none() || right.is_none()) return left.is_none() && right.is_none();
  if (const auto a = left.integer(), b = right.integer(); a && b) return *a == *b;
  if (left.is_number() || right.is_number())
    return left.is_number() && right.is_number() && *left.number() == *right.number();
  if (left.is_text() || right.is_text()) return left.is_text() && right.is_text() && left.text() == right.text();
  if (const Dict *a = left.dict(), *b = right.dict(); a != nullptr || b != nullptr) {
    if (a == nullptr || b == nullptr || a->pairs.size() != b->pairs.size()) return false;
    return std::all_of(a->pairs.begin(), a->pairs.end(), [&](const auto& pair) {
      const Value* other = find_key(budget, *b, pair.first);
      return other != nullptr && are_equal(budget, pair.second, *other, depth + 1);
    });
  }
  const Sequence *a = left.sequence(), *b = right.sequence();
  if (a == nullptr || b == nullptr) return left.object() != nullptr && left.object() == right.object();
  if (a == b) return true;
  return a->kind == b->kind && a->items.size() == b->items.size() &&
         std::equal(a->items.begin(), a->items.end(), b->items.begin(),
                    [&](const Value& x, const Value& y) { return are_equal(budget, x, y, depth + 1); });
}

int order_of(Budget& budget, const Value& left, const Value& right, std::string_view op) {
  budget.step();
  if (left.is_undefined()) fail_undefined(left);
  if (right.is_undefined()) fail_undefined(right);
  const auto sign = [](const auto& a, const auto& b) { return a < b ? -1 : a > b ? 1 : 0; };
  if (const auto a = left.integer(), b = right.integer(); a && b) return sign(*a, *b);
  if (left.is_number() && right.is_number()) return sign(*left.number(), *right.number());
  if (left.is_text() && right.is_text()) return sign(left.text(), right.text());  // UTF-8 keeps the order
  if (is_list_or_tuple(left) && is_list_or_tuple(right) && left.sequence()->kind == right.sequence()->kind) {
    const Values &a = left.sequence()->items, &b = right.sequence()->items;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (!are_equal(budget, a[i], b[i])) return order_of(budget, a[i], b[i], op);
    return sign(a.size(), b.size());
  }
  fail(Errc::kInvalid, "'{}' has no order for {} and {}", op, left.type_name(), right.type_name());
}

bool contains(Machine& machine, const Value& whole, const Value& part) {
  Budget& budget = machine.budget();
  if (whole.is_undefined()) return false;
  if (whole.is_text()) {
    if (part.is_undefined()) fail_undefined(part);
    require(part.is_text(), Errc::kInvalid, "'in <string>' requires string as left operand, not {}", part.type_name());
    budget.step(whole.text().size() / 64);
    return whole.text().find(part.text()) != std::string::npos;
  }
  if (const Dict* dict = whole.dict()) {
    require_hashable(part);
    return find_key(budget, *dict, part) != nullptr;
  }
  require(whole.sequence() != nullptr, Errc::kInvalid, "argument of type '{}' is not iterable", whole.type_name());
  const Values items = machine.items_of(whole);
  return std::any_of(items.begin(), items.end(), [&](const Value& item) { return are_equal(budget, item, part); });
}

void require_hashable(const Value& key) {
  const Sequence* s = key.sequence();
  require(key.dict() == nullptr && (s == nullptr || s->kind != SequenceKind::kList), Errc::kInvalid,
          "unhashable type: '{}'", key.type_name());
}

const Value* find_key(Budget& budget, const Dict& dict, const Value& key) {
  budget.step(1 + dict.pairs.size() / 16);
  if (key.is_text()) return find(dict, key.text());
  for (const auto& [k, v] : dict.pairs)
    if (!k.is_text() && are_equal(budget, k, key)) return &v;
  return nullptr;
}

std::size_t length_of(const Value& value) {
  if (value.is_undefined()) return 0;
  if (value.is_text()) return count_code_points(value.text());
  if (const Dict* d = value.dict()) return d->pairs.size();
  const Sequence* s = value.sequence();
  require(s != nullptr && s->kind != SequenceKind::kIterator, Errc::kInvalid, "object of type '{}' has no len()",
          value.type_name());
  return s->items.size();
}

namespace {

Value no_attribute(const Value& value, std::string_view name) {
  if (value.is_none()) return Value::undefined(fmt::format("'None' has no attribute '{}'", name));
  return Value::undefined(fmt::format("'{} object' has no attribute '{}'", value.type_name(), name));
}

// What obj[key] gives; none: no such entry.
std::optional<Value> entry_of(Machine& machine, const Value& value, const Value& key) {
  if (const Dict* dict = value.dict()) {
    if (key.dict() != nullptr) return std::nullopt;
    const Value* found = find_key(machine.budget(), *dict, key);
    return found != nullptr ? std::optional(*found) : std::nullopt;
  }
  const auto index = key.integer();
  if (!index) return std::nullopt;
  if (value.is_text()) {
    const std::string& text = value.text();
    const auto length = static_cast<Integer>(count_code_points(text));
    const Integer at = *index < 0 ? *index + length : *index;
    if (at < 0 || at >= length) return std::nullopt;
    const std::size_t begin = byte_of_code_point(text, static_cast<std::size_t>(at));
    return Value(text.substr(begin, read_code_point(text, begin).bytes));
  }
  const Sequence* s = value.sequence();
  if (s == nullptr || s->kind == SequenceKind::kIterator || s->kind == SequenceKind::kView) return std::nullopt;
  const auto length = static_cast<Integer>(s->items.size());
  const Integer at = *index < 0 ? *index + length : *index;
  if (at < 0 || at >= length) return std::nullopt;
  return s->items[static_cast<std::size_t>(at)];
}

}  // namespace

Value attribute_of(Machine& machine, const Value& value, std::string_view name) {
  if (value.is_undefined()) fail_undefined(value);
  if (std::optional<Value> method = method_of(value, name)) return *method;
  if (const Object* object = value.object())
    if (std::optional<Value> found = object->attribute(name)) return *found;
  if (const Dict* dict = value.dict()) {
    machine.budget().step(1 + dict->pairs.size() / 16);
    if (const Value* found = find(*dict, name)) return *found;
  }
  if (const Sequence* s = value.sequence(); s != nullptr && s->label == kGroupLabel) {
    if (name == "grouper") return s->items[0];
    if (name == "list") return s->items[1];
  }
  return no_attribute(value, name);
}

Value item_of(Machine& machine, const Value& value, const Value& key) {
  if (value.is_undefined()) fail_undefined(value);
  if (std::optional<Value> entry = entry_of(machine, value, key)) return *entry;
  if (key.is_text()) {
    if (std::optional<Value> method = method_of(value, key.text())) return *method;
    if (const Object* object = value.object())
      if (std::optional<Value> found = object->attribute(key.text())) return *found;
    return no_attribute(value, key.text());
  }
  if (key.is_undefined()) return Value::undefined(key.undefined_message());
  return Value::undefined(fmt::format("{} object has no element {}", value.type_name(), machine.repr_of(key)));
}

Value slice_of(Machine& machine, const Value& value, const Value& begin, const Value& end, const Value& step) {
  if (value.is_undefined()) fail_undefined(value);
  for (const Value* bound : {&begin, &end, &step})
    require(bound->is_none() || bound->integer(), Errc::kInvalid, "slice indices must be integers or None");
  const Integer by = step.is_none() ? 1 : *step.integer();
  require(by != 0, Errc::kInvalid, "slice step cannot be zero");
  const Sequence* s = value.sequence();
  const bool is_sliceable =
      value.is_text() || (s != nullptr && s->kind != SequenceKind::kIterator && s->kind != SequenceKind::kView);
  if (!is_sliceable) return Value::undefined(fmt::format("'{}' object cannot be sliced", value.type_name()));
  const auto length = static_cast<Integer>(length_of(value));
  const Integer low = by > 0 ? 0 : -1, high = by > 0 ? length : length - 1;
  const auto place = [&](const Value& bound, Integer otherwise) {
    if (bound.is_none()) return otherwise;
    const Integer at = *bound.integer();
    return std::clamp(at < 0 ? (at < -length ? Integer{-1} : at + length) : at, low, high);
  };
  const Integer first = place(begin, by > 0 ? low : high), last = place(end, by > 0 ? high : low);
  const auto goes_on = [&](Integer i) { return by > 0 ? i < last : i > last; };
  const Integer stride = std::clamp(by, -length - 1, length + 1);
  if (s != nullptr) {
    Values items;
    for (Integer i = first; goes_on(i); i += stride) items.push_back(s->items[static_cast<std::size_t>(i)]);
    return Value::list(std::move(items), s->kind == SequenceKind::kTuple ? s->kind : SequenceKind::kList);
  }
  const std::string& text = value.text();
  machine.budget().step(text.size() / 64);
  std::vector<std::size_t> starts;  // of the code points, where bytes are not code points
  const bool one_byte_each = static_cast<std::size_t>(length) == text.size();
  if (!one_byte_each)
    for (std::size_t at = 0; at < text.size(); at += read_code_point(text, at).bytes) starts.push_back(at);
  std::string out;
  for (Integer i = first; goes_on(i); i += stride) {
    const std::size_t at = one_byte_each ? static_cast<std::size_t>(i) : starts[static_cast<std::size_t>(i)];
    out += text.substr(at, one_byte_each ? 1 : read_code_point(text, at).bytes);
  }
  return out;
}

}  // namespace tessera::jinja
