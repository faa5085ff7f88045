#include "tessera/text/jinja/objects.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/text/jinja/operators.h"

namespace tessera::jinja {
namespace {

template <class Body>
Value method(Body body) {
  return Value(std::static_pointer_cast<Object>(std::make_shared<Function>("method", std::move(body))));
}

}  // namespace

std::optional<Value> Namespace::attribute(std::string_view name) const {
  const Value* value = fields_->find(name);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::string Namespace::repr(Machine& machine) const {
  const Budget::Level level(machine.budget());  // it may hold itself
  std::string text = "<Namespace {";
  for (std::size_t i = 0; i < fields_->names.size(); ++i)
    text += (i > 0 ? ", " : "") + machine.repr_of(Value(fields_->names[i].first)) + ": " +
            machine.repr_of(fields_->names[i].second);
  return text + "}>";
}

std::optional<Value> Macro::attribute(std::string_view name) const {
  if (name == "name") return Value(name_);
  if (name == "catch_varargs") return Value(statement_.uses.varargs);
  if (name == "catch_kwargs") return Value(statement_.uses.kwargs);
  if (name == "caller") return Value(statement_.uses.caller);
  if (name != "arguments") return std::nullopt;
  Values names;
  for (const Parameter& p : statement_.parameters) names.emplace_back(p.name);
  return Value::list(std::move(names), SequenceKind::kTuple);
}

Value Macro::call(Machine& machine, Arguments arguments) {
  auto scope = std::make_shared<Scope>(Scope{.names = {}, .parent = scope_});
  bind(machine, arguments, scope);
  return machine.run_body(statement_.blocks[0], scope);
}

void Macro::bind(Machine& machine, Arguments& arguments, const std::shared_ptr<Scope>& scope) const {
  const std::vector<Parameter>& parameters = statement_.parameters;
  Values& given = arguments.positional;
  const auto take = [&](std::string_view name) -> std::optional<Value> {
    const auto it = std::find_if(arguments.named.begin(), arguments.named.end(),
                                 [&](const auto& argument) { return argument.first == name; });
    if (it == arguments.named.end()) return std::nullopt;
    Value value = std::move(it->second);
    arguments.named.erase(it);
    return value;
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    if (i < given.size()) {
      scope->set(p.name, given[i]);
    } else if (std::optional<Value> named = take(p.name)) {
      scope->set(p.name, *named);
    } else if (p.otherwise) {
      scope->set(p.name, machine.evaluate(*p.otherwise, scope));
    } else {
      scope->set(p.name, Value::undefined(fmt::format("parameter '{}' was not provided", p.name)));
    }
  }
  const std::optional<Value> caller = take("caller");
  if (statement_.uses.caller) {
    scope->set("caller", caller ? *caller : Value::undefined("No caller defined"));
  } else {
    require(!caller, Errc::kInvalid, "macro '{}' was invoked with two values for the special caller argument", name_);
  }
  if (statement_.uses.kwargs) {
    Pairs pairs;
    for (auto& [name, value] : arguments.named) pairs.emplace_back(Value(name), std::move(value));
    scope->set("kwargs", Value::dict(std::move(pairs)));
  } else {
    require(arguments.named.empty(), Errc::kInvalid, "macro '{}' takes no keyword argument '{}'", name_,
            arguments.named.empty() ? "" : arguments.named[0].first);
  }
  if (statement_.uses.varargs) {
    const std::size_t first = std::min(parameters.size(), given.size());
    scope->set("varargs", Value::list(Values(given.begin() + static_cast<std::ptrdiff_t>(first), given.end()),
                                      SequenceKind::kTuple));
  } else {
    require(given.size() <= parameters.size(), Errc::kInvalid, "macro '{}' takes not more than {} argument(s)", name_,
            parameters.size());
  }
}

std::optional<Value> Loop::attribute(std::string_view name) const {
  const std::size_t count = items_.size();
  if (name == "index") return Value::of_size(index_ + 1);
  if (name == "index0") return Value::of_size(index_);
  if (name == "revindex") return Value::of_size(count - index_);
  if (name == "revindex0") return Value::of_size(count - index_ - 1);
  if (name == "first") return Value(index_ == 0);
  if (name == "last") return Value(index_ + 1 == count);
  if (name == "length") return Value::of_size(count);
  if (name == "depth") return Value(level_ + 1);
  if (name == "depth0") return Value(level_);
  if (name == "previtem") return index_ > 0 ? items_[index_ - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem") return index_ + 1 < count ? items_[index_ + 1] : Value::undefined("there is no next item");
  // A method keeps its loop alive.
  const auto self = std::static_pointer_cast<Loop>(std::const_pointer_cast<Object>(shared_from_this()));
  if (name == "cycle")
    return method([self](Machine&, const Arguments& arguments) { return self->cycle(arguments.positional); });
  if (name == "changed")
    return method([self](Machine& machine, Arguments arguments) {
      return Value(self->changed(machine, std::move(arguments.positional)));
    });
  return std::nullopt;
}

Value Loop::cycle(const Values& choices) const {
  require(!choices.empty(), Errc::kInvalid, "no items for cycling given");
  return choices[index_ % choices.size()];
}

bool Loop::changed(Machine& machine, Values values) {
  const bool same = last_changed_ && are_equal(machine.budget(), Value::list(*last_changed_), Value::list(values));
  last_changed_ = std::move(values);
  return !same;
}

Value Loop::call(Machine& machine, Arguments arguments) {
  require(repeat_.statement != nullptr && arguments.positional.size() == 1, Errc::kInvalid,
          "The loop must have the 'recursive' marker to be called with one list");
  return machine.run_loop(*repeat_.statement, machine.items_of(arguments.positional[0]), repeat_.scope, level_ + 1);
}

}  // namespace tessera::jinja
