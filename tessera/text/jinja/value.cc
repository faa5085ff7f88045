#include "tessera/text/jinja/value.h"

#include <algorithm>
#include <limits>

#include "tessera/base/error.h"

namespace tessera::jinja {
namespace {

constexpr int kMaxDepth = 100;

int checked(int depth) {
  require(depth <= kMaxDepth, Errc::kResource, "the template nests lists more than {} levels deep", kMaxDepth);
  return depth;
}

}  // namespace

Value Value::undefined(std::string message) {
  Value v;
  v.data_ = Undefined{std::make_shared<const std::string>(std::move(message))};
  return v;
}

Value Value::markup(std::string text) {
  Value v;
  v.data_ = std::make_shared<const Text>(Text{std::move(text), true});
  return v;
}

Value Value::list(Values items, SequenceKind kind, std::string label) {
  int depth = 1;
  for (const Value& item : items) depth = std::max(depth, 1 + item.depth());
  Value v;
  v.data_ = std::make_shared<const Sequence>(Sequence{kind, std::move(items), std::move(label), checked(depth)});
  return v;
}

Value Value::dict(Pairs pairs) {
  int depth = 1;
  for (const auto& [key, value] : pairs) depth = std::max({depth, 1 + key.depth(), 1 + value.depth()});
  Value v;
  v.data_ = std::make_shared<const Dict>(Dict{std::move(pairs), checked(depth)});
  return v;
}

Value Value::from_json(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_bool()) return json.as_bool();
  if (json.is_integer())
    return json.as_double() < 0 ? Value(Integer{json.as_int64()}) : Value(Integer{json.as_uint64()});
  if (json.is_number()) return json.as_double();
  if (json.is_string()) return json.as_string();
  if (json.is_array()) {
    Values items;
    for (const Json& item : json.as_array()) items.push_back(from_json(item));
    return list(std::move(items));
  }
  Pairs pairs;
  for (const auto& [key, value] : json.as_object()) pairs.emplace_back(Value(key), from_json(value));
  return dict(std::move(pairs));
}

const Sequence* Value::sequence() const {
  const auto* v = std::get_if<std::shared_ptr<const Sequence>>(&data_);
  return v != nullptr ? v->get() : nullptr;
}
const Dict* Value::dict() const {
  const auto* v = std::get_if<std::shared_ptr<const Dict>>(&data_);
  return v != nullptr ? v->get() : nullptr;
}
Object* Value::object() const {
  const auto* v = std::get_if<std::shared_ptr<Object>>(&data_);
  return v != nullptr ? v->get() : nullptr;
}

std::optional<Integer> Value::integer() const {
  if (is_bool()) return Integer{std::get<bool>(data_) ? 1 : 0};
  if (is_integer()) return std::get<Integer>(data_);
  return std::nullopt;
}

std::optional<double> Value::number() const {
  if (is_float()) return std::get<double>(data_);
  if (const auto i = integer()) return static_cast<double>(*i);
  return std::nullopt;
}

int Value::depth() const {
  if (const Sequence* s = sequence()) return s->depth;
  if (const Dict* d = dict()) return d->depth;
  return 0;
}

bool Value::is_true() const {
  if (is_none() || is_undefined()) return false;
  if (const auto n = number()) return *n != 0;
  if (is_text()) return !text().empty();
  if (const Sequence* s = sequence()) return s->kind == SequenceKind::kIterator || !s->items.empty();
  if (const Dict* d = dict()) return !d->pairs.empty();
  return true;
}

std::string_view Value::type_name() const {
  if (is_none()) return "NoneType";
  if (is_undefined()) return "Undefined";
  if (is_bool()) return "bool";
  if (is_integer()) return "int";
  if (is_float()) return "float";
  if (is_text()) return is_markup() ? "Markup" : "str";
  if (const Sequence* s = sequence()) {
    switch (s->kind) {
      case SequenceKind::kList:
        return "list";
      case SequenceKind::kTuple:
        return "tuple";
      case SequenceKind::kRange:
        return "range";
      case SequenceKind::kView:
        return s->label;
      case SequenceKind::kIterator:
        return "generator";
    }
  }
  if (dict() != nullptr) return "dict";
  return object()->type_name();
}

std::optional<Value> Object::attribute(std::string_view) const { return std::nullopt; }

// NOLINTNEXTLINE(performance-unnecessary-value-param): what can be called takes its arguments over
Value Object::call(Machine&, Arguments) { fail(Errc::kInvalid, "'{}' object is not callable", type_name()); }

std::string Object::repr(Machine&) const { return fmt::format("<{}>", type_name()); }

const Value* find(const Dict& dict, std::string_view key) {
  for (const auto& [k, v] : dict.pairs)
    if (k.is_text() && k.text() == key) return &v;
  return nullptr;
}

}  // namespace tessera::jinja
