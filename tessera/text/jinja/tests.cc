#include "tessera/text/jinja/tests.h"

#include <algorithm>
#include <array>

#include "tessera/base/error.h"
#include "tessera/text/jinja/arguments.h"
#include "tessera/text/jinja/filters.h"
#include "tessera/text/jinja/operators.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {
namespace {

template <auto holds>
bool property(Machine&, const Value& value, Arguments a) {
  const Bound b("test", std::move(a), {});
  return holds(value);
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_none(const Value& v) { return v.is_none(); }
bool is_boolean(const Value& v) { return v.is_bool(); }
bool is_true(const Value& v) { return v.is_bool() && v.is_true(); }
bool is_false(const Value& v) { return v.is_bool() && !v.is_true(); }
bool is_integer(const Value& v) { return v.is_integer(); }
bool is_float(const Value& v) { return v.is_float(); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_string(const Value& v) { return v.is_text(); }
bool is_escaped(const Value& v) { return v.is_markup(); }
bool is_mapping(const Value& v) { return v.dict() != nullptr; }
bool is_callable(const Value& v) { return v.is_undefined() || (v.object() != nullptr && v.object()->can_be_called()); }
bool is_iterable(const Value& v) {
  return v.is_text() || v.is_undefined() || v.dict() != nullptr || v.sequence() != nullptr;
}
bool is_sequence(const Value& v) {
  const Sequence* s = v.sequence();
  return v.is_text() || v.dict() != nullptr ||
         (s != nullptr && s->kind != SequenceKind::kIterator && s->kind != SequenceKind::kView);
}

template <int rest>
bool parity(Machine& m, const Value& value, Arguments a) {
  const Bound b("odd", std::move(a), {});
  return are_equal(m.budget(), apply_binary(m, "%", value, 2), rest);
}

bool divisible_by(Machine& m, const Value& value, Arguments a) {
  const Value by = Bound("divisibleby", std::move(a), {"num"}).required(0);
  return are_equal(m.budget(), apply_binary(m, "%", value, by), 0);
}

enum class Comparison { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
template <Comparison comparison>
bool compares(Machine& m, const Value& value, Arguments a) {
  const Value other = Bound("comparison", std::move(a), {"other"}).required(0);
  if (comparison == Comparison::kEqual) return are_equal(m.budget(), value, other);
  if (comparison == Comparison::kNotEqual) return !are_equal(m.budget(), value, other);
  const int order = order_of(m.budget(), value, other);
  if (comparison == Comparison::kLess) return order < 0;
  if (comparison == Comparison::kLessOrEqual) return order <= 0;
  return comparison == Comparison::kGreater ? order > 0 : order >= 0;
}

bool is_in(Machine& m, const Value& value, Arguments a) {
  return contains(m, Bound("in", std::move(a), {"seq"}).required(0), value);
}

// Python's `is`: constants, and what shares its storage.
bool same_as(Machine& m, const Value& value, Arguments a) {
  const Value other = Bound("sameas", std::move(a), {"other"}).required(0);
  if (value.sequence() != nullptr) return value.sequence() == other.sequence();
  if (value.dict() != nullptr) return value.dict() == other.dict();
  return value.type_name() == other.type_name() && are_equal(m.budget(), value, other);
}

template <auto is_case, auto is_other>
bool is_in_case(Machine& m, const Value& value, Arguments a) {
  const Bound b("case", std::move(a), {});
  const std::string text = m.text_of(value);
  bool any = false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    if (is_other(c.value)) return false;
    any = any || is_case(c.value);
    at += c.bytes;
  }
  return any;
}

bool names_filter(Machine&, const Value& value, Arguments a) {
  const Bound b("filter", std::move(a), {});
  return value.is_text() && find_filter(value.text()) != nullptr;
}
bool names_test(Machine&, const Value& value, Arguments a) {
  const Bound b("test", std::move(a), {});
  return value.is_text() && find_test(value.text()) != nullptr;
}

constexpr std::array kTests = {
    Test{"boolean", property<is_boolean>},
    Test{"callable", property<is_callable>},
    Test{"defined", property<is_defined>},
    Test{"divisibleby", divisible_by},
    Test{"eq", compares<Comparison::kEqual>},
    Test{"equalto", compares<Comparison::kEqual>},
    Test{"escaped", property<is_escaped>},
    Test{"even", parity<0>},
    Test{"false", property<is_false>},
    Test{"filter", names_filter},
    Test{"float", property<is_float>},
    Test{"ge", compares<Comparison::kGreaterOrEqual>},
    Test{"greaterthan", compares<Comparison::kGreater>},
    Test{"gt", compares<Comparison::kGreater>},
    Test{"in", is_in},
    Test{"integer", property<is_integer>},
    Test{"iterable", property<is_iterable>},
    Test{"le", compares<Comparison::kLessOrEqual>},
    Test{"lessthan", compares<Comparison::kLess>},
    Test{"lower", is_in_case<is_lower, is_upper>},
    Test{"lt", compares<Comparison::kLess>},
    Test{"mapping", property<is_mapping>},
    Test{"ne", compares<Comparison::kNotEqual>},
    Test{"none", property<is_none>},
    Test{"number", property<is_number>},
    Test{"odd", parity<1>},
    Test{"sameas", same_as},
    Test{"sequence", property<is_sequence>},
    Test{"string", property<is_string>},
    Test{"test", names_test},
    Test{"true", property<is_true>},
    Test{"undefined", property<is_undefined>},
    Test{"upper", is_in_case<is_upper, is_lower>},
};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto it = std::find_if(kTests.begin(), kTests.end(), [&](const Test& test) { return test.name == name; });
  return it == kTests.end() ? nullptr : &*it;
}

std::string test_names() {
  std::string names;
  for (const Test& test : kTests) names.append(names.empty() ? "" : ", ").append(test.name);
  return names;
}

}  // namespace tessera::jinja
