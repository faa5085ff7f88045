#include "tessera/text/jinja/machine.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/text/jinja/filters.h"
#include "tessera/text/jinja/objects.h"
#include "tessera/text/jinja/operators.h"
#include "tessera/text/jinja/tests.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {

void Budget::step(std::uint64_t count) {
  steps_ += count;
  require(steps_ <= limits_.steps, Errc::kResource, "the template takes more than {} steps", limits_.steps);
}

void Budget::make(std::uint64_t bytes) {
  bytes_ += bytes;
  require(bytes_ <= limits_.bytes, Errc::kResource, "the template makes more than {} bytes of text and lists",
          limits_.bytes);
  step(bytes / 64);
}

void Budget::require_text(std::uint64_t bytes) const {
  require(bytes <= limits_.text, Errc::kResource, "the template makes a text of more than {} bytes", limits_.text);
}

Budget::Level::Level(Budget& budget) : budget_(budget) {
  require(budget_.depth_ < budget_.limits_.depth, Errc::kResource, "the template goes more than {} levels deep",
          budget_.limits_.depth);
  ++budget_.depth_;
}

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get())
    for (const auto& [known, value] : scope->names)
      if (known == name) return &value;
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  for (auto& [known, old] : names) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  names.emplace_back(name, std::move(value));
}

Machine::Machine(const TemplateLimits& limits, const std::tm& now)
    : budget_(limits), now_(now), globals_(std::make_shared<Scope>()) {
  add_globals(*globals_);
}

Machine::~Machine() {
  for (const auto& scope : kept_) scope->names.clear();
}

Values Machine::items_of(const Value& value) {
  Values items;
  if (value.is_undefined()) return items;
  if (value.is_text()) {
    const std::string& text = value.text();
    budget_.make(text.size() * sizeof(Value));
    for (std::size_t at = 0; at < text.size();) {
      const std::uint32_t bytes = read_code_point(text, at).bytes;
      items.emplace_back(text.substr(at, bytes));
      at += bytes;
    }
    return items;
  }
  if (const Dict* dict = value.dict()) {
    for (const auto& [key, item] : dict->pairs) items.push_back(key);
  } else {
    const Sequence* sequence = value.sequence();
    require(sequence != nullptr, Errc::kInvalid, "'{}' object is not iterable", value.type_name());
    if (sequence->kind == SequenceKind::kIterator && std::exchange(sequence->is_used, true)) return items;
    items = sequence->items;
  }
  budget_.make(items.size() * sizeof(Value));
  return items;
}

Value Machine::call(const Value& function, Arguments arguments) {
  if (function.is_undefined()) fail_undefined(function);
  Object* object = function.object();
  require(object != nullptr && object->can_be_called(), Errc::kInvalid, "'{}' object is not callable",
          function.type_name());
  const Budget::Level level(budget_);
  return object->call(*this, std::move(arguments));
}

Value Machine::apply_filter(const std::string& name, const Value& value, Arguments arguments) {
  const Filter* filter = find_filter(name);
  if (filter == nullptr) fail(Errc::kInvalid, "no filter '{}'; there are: {}", printable(name), filter_names());
  return filter->apply(*this, value, std::move(arguments));
}

bool Machine::apply_test(const std::string& name, const Value& value, Arguments arguments) {
  const Test* test = find_test(name);
  if (test == nullptr) fail(Errc::kInvalid, "no test '{}'; there are: {}", printable(name), test_names());
  return test->holds(*this, value, std::move(arguments));
}

Value Machine::evaluate(const Expression& e, const std::shared_ptr<Scope>& scope) {
  if (e.kind == ExpressionKind::kConstant) return e.constant;
  const Budget::Level level(budget_);
  budget_.step();
  Value value = naming_line(e.line, [&] { return evaluate_unguarded(e, scope); });
  const bool is_made =
      e.kind != ExpressionKind::kName && e.kind != ExpressionKind::kAttribute && e.kind != ExpressionKind::kConditional;
  if (is_made) {
    if (value.is_text()) budget_.make(value.text().size());
    if (const Sequence* s = value.sequence()) budget_.make(s->items.size() * sizeof(Value));
    if (const Dict* d = value.dict()) budget_.make(d->pairs.size() * 2 * sizeof(Value));
  }
  return value;
}

Value Machine::evaluate_unguarded(const Expression& e, const std::shared_ptr<Scope>& scope) {
  const auto part = [&](std::size_t i) { return e.parts[i] ? evaluate(*e.parts[i], scope) : Value(); };
  switch (e.kind) {
    case ExpressionKind::kConstant:
      return e.constant;
    case ExpressionKind::kName:
      return evaluate_name(e, scope);
    case ExpressionKind::kList:
    case ExpressionKind::kTuple: {
      Values items;
      for (std::size_t i = 0; i < e.parts.size(); ++i) items.push_back(part(i));
      return Value::list(std::move(items),
                         e.kind == ExpressionKind::kList ? SequenceKind::kList : SequenceKind::kTuple);
    }
    case ExpressionKind::kDict:
      return evaluate_dict(e, scope);
    case ExpressionKind::kAttribute:
      return attribute_of(*this, part(0), e.name);
    case ExpressionKind::kItem:
      return evaluate_item(e, scope);
    case ExpressionKind::kSlice:
      fail(Errc::kInvalid, "a slice among several indices");
    case ExpressionKind::kCall: {
      const Value function = part(0);
      return call(function, evaluate_arguments(e.arguments, scope));
    }
    case ExpressionKind::kFilter:
      return evaluate_filter(e, e.parts[0] ? part(0) : *scope->find(""), scope);
    case ExpressionKind::kTest: {
      const Value value = part(0);
      return apply_test(e.name, value, evaluate_arguments(e.arguments, scope));
    }
    case ExpressionKind::kUnary:
      return e.name == "not" ? Value(!part(0).is_true()) : apply_sign(e.name, part(0));
    case ExpressionKind::kBinary:
      return evaluate_binary(e, scope);
    case ExpressionKind::kConcat: {
      std::string text;
      for (std::size_t i = 0; i < e.parts.size(); ++i) {
        text += text_of(part(i));
        budget_.require_text(text.size());
      }
      return text;
    }
    case ExpressionKind::kCompare:
      return evaluate_compare(e, scope);
    case ExpressionKind::kConditional:
      if (part(1).is_true()) return part(0);
      if (e.parts[2]) return part(2);
      return Value::undefined("the inline if-expression evaluated to false and no else section was defined.");
  }
  return {};
}

Value Machine::evaluate_name(const Expression& e, const std::shared_ptr<Scope>& scope) {
  const Value* value = scope->find(e.name);
  return value != nullptr ? *value : Value::undefined(fmt::format("'{}' is undefined", e.name));
}

Value Machine::evaluate_binary(const Expression& e, const std::shared_ptr<Scope>& scope) {
  Value left = evaluate(*e.parts[0], scope);
  if (e.name == "and") return left.is_true() ? evaluate(*e.parts[1], scope) : left;
  if (e.name == "or") return left.is_true() ? left : evaluate(*e.parts[1], scope);
  return apply_binary(*this, e.name, left, evaluate(*e.parts[1], scope));
}

Value Machine::evaluate_compare(const Expression& e, const std::shared_ptr<Scope>& scope) {
  Value left = evaluate(*e.parts[0], scope);
  for (std::size_t i = 0; i < e.operators.size(); ++i) {
    Value right = evaluate(*e.parts[i + 1], scope);
    const std::string& op = e.operators[i];
    bool holds = false;
    if (op == "==" || op == "!=") {
      holds = are_equal(budget_, left, right) == (op == "==");
    } else if (op == "in" || op == "not in") {
      holds = contains(*this, right, left) == (op == "in");
    } else {
      const int order = order_of(budget_, left, right, op);
      holds = op == "<" ? order < 0 : op == "<=" ? order <= 0 : op == ">" ? order > 0 : order >= 0;
    }
    if (!holds) return false;
    left = std::move(right);
  }
  return true;
}

Value Machine::evaluate_item(const Expression& e, const std::shared_ptr<Scope>& scope) {
  const Value value = evaluate(*e.parts[0], scope);
  const Expression& key = *e.parts[1];
  if (key.kind != ExpressionKind::kSlice) return item_of(*this, value, evaluate(key, scope));
  const auto bound = [&](std::size_t i) { return key.parts[i] ? evaluate(*key.parts[i], scope) : Value(); };
  const Value begin = bound(0), end = bound(1), step = bound(2);
  return slice_of(*this, value, begin, end, step);
}

Value Machine::evaluate_dict(const Expression& e, const std::shared_ptr<Scope>& scope) {
  Pairs pairs;
  for (std::size_t i = 0; i + 1 < e.parts.size(); i += 2) {
    const Value key = evaluate(*e.parts[i], scope);
    require_hashable(key);
    Value value = evaluate(*e.parts[i + 1], scope);
    const auto same =
        std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return are_equal(budget_, pair.first, key); });
    if (same != pairs.end()) {
      same->second = std::move(value);
    } else {
      pairs.emplace_back(key, std::move(value));
    }
  }
  return Value::dict(std::move(pairs));
}

Value Machine::evaluate_filter(const Expression& e, const Value& value, const std::shared_ptr<Scope>& scope) {
  return apply_filter(e.name, value, evaluate_arguments(e.arguments, scope));
}

Arguments Machine::evaluate_arguments(const CallArguments& arguments, const std::shared_ptr<Scope>& scope) {
  Arguments all;
  for (const ExpressionPtr& argument : arguments.positional) all.positional.push_back(evaluate(*argument, scope));
  if (arguments.star)
    for (Value& item : items_of(evaluate(*arguments.star, scope))) all.positional.push_back(std::move(item));
  const auto add = [&](std::string name, Value value) {
    for (const auto& [known, old] : all.named)
      require(known != name, Errc::kInvalid, "the keyword argument '{}' is given twice", name);
    all.named.emplace_back(std::move(name), std::move(value));
  };
  for (const auto& [name, argument] : arguments.named) add(name, evaluate(*argument, scope));
  if (arguments.double_star) {
    const Value value = evaluate(*arguments.double_star, scope);
    require(value.dict() != nullptr, Errc::kInvalid, "argument after ** must be a mapping, not {}", value.type_name());
    for (const auto& [key, item] : value.dict()->pairs) {
      require(key.is_text(), Errc::kInvalid, "keywords must be strings");
      add(key.text(), item);
    }
  }
  return all;
}

}  // namespace tessera::jinja
