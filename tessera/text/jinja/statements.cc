// What the tags of a template do: the other half of Machine.
#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/text/jinja/machine.h"
#include "tessera/text/jinja/objects.h"
#include "tessera/text/jinja/operators.h"

namespace tessera::jinja {
namespace {

std::shared_ptr<Scope> inner(const std::shared_ptr<Scope>& scope) {
  return std::make_shared<Scope>(Scope{.names = {}, .parent = scope});
}

Value object_value(std::shared_ptr<Object> object) { return Value(std::move(object)); }

}  // namespace

RenderedTemplate Machine::render(const Block& block, const Json& variables) {
  const auto scope = inner(globals_);
  for (const auto& [name, value] : variables.as_object()) scope->set(name, Value::from_json(value));
  kept_.push_back(scope);
  run(block, scope);
  return {std::move(output_), std::move(generated_)};
}

void Machine::write(std::string_view text) {
  budget_.require_text(into_->size() + text.size());
  budget_.make(text.size());
  *into_ += text;
}

std::string Machine::capture(const Block& block, const std::shared_ptr<Scope>& scope) {
  std::string text;
  std::string* const outer = std::exchange(into_, &text);
  try {
    run(block, scope);
  } catch (...) {
    into_ = outer;
    throw;
  }
  into_ = outer;
  return text;
}

std::string Machine::run_body(const Block& block, const std::shared_ptr<Scope>& scope) { return capture(block, scope); }

std::string Machine::run_loop(const Statement& loop, Values items, const std::shared_ptr<Scope>& scope, int level) {
  std::string text;
  std::string* const outer = std::exchange(into_, &text);
  try {
    run_for(loop, std::move(items), scope, level);
  } catch (...) {
    into_ = outer;
    throw;
  }
  into_ = outer;
  return text;
}

Machine::Flow Machine::run(const Block& block, const std::shared_ptr<Scope>& scope) {
  const Budget::Level level(budget_);
  for (const Statement& s : block) {
    budget_.step();
    const Flow flow = naming_line(s.line, [&] { return run_statement(s, scope); });
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

Machine::Flow Machine::run_statement(const Statement& s, const std::shared_ptr<Scope>& scope) {
  switch (s.kind) {
    case StatementKind::kText:
      write(s.name);
      return Flow::kOn;
    case StatementKind::kPrint:
      write(text_of(evaluate(*s.value, scope)));
      return Flow::kOn;
    case StatementKind::kIf:
      return run_if(s, scope);
    case StatementKind::kFor:
      run_for(s, items_of(evaluate(*s.value, scope)), scope, 0);
      return Flow::kOn;
    case StatementKind::kSet:
      assign(*s.target, evaluate(*s.value, scope), *scope, scope);
      return Flow::kOn;
    case StatementKind::kSetBlock:
      run_set_block(s, scope);
      return Flow::kOn;
    case StatementKind::kMacro:
      keep(scope);  // the macro holds it, and it the macro
      scope->set(s.name, object_value(std::make_shared<Macro>(s, s.name, scope)));
      return Flow::kOn;
    case StatementKind::kCall:
      run_call(s, scope);
      return Flow::kOn;
    case StatementKind::kFilter: {
      const auto within = inner(scope);
      within->set("", capture(s.blocks[0], inner(scope)));
      write(text_of(evaluate(*s.value, within)));
      return Flow::kOn;
    }
    case StatementKind::kWith:
      run_with(s, scope);
      return Flow::kOn;
    case StatementKind::kGeneration:
      run_generation(s, scope);
      return Flow::kOn;
    case StatementKind::kScope:
      run(s.blocks[0], inner(scope));
      return Flow::kOn;
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kOn;
}

Machine::Flow Machine::run_if(const Statement& s, const std::shared_ptr<Scope>& scope) {
  for (std::size_t i = 0; i < s.values.size(); ++i)
    if (evaluate(*s.values[i], scope).is_true()) return run(s.blocks[i], scope);
  return s.blocks.size() > s.values.size() ? run(s.blocks.back(), scope) : Flow::kOn;
}

void Machine::run_for(const Statement& s, Values items, const std::shared_ptr<Scope>& scope, int level) {
  if (s.test) {
    Values chosen;
    for (Value& item : items) {
      const auto within = inner(scope);
      assign(*s.target, item, *within, within);
      if (evaluate(*s.test, within).is_true()) chosen.push_back(std::move(item));
    }
    items = std::move(chosen);
  }
  if (items.empty()) {
    run(s.blocks[1], inner(scope));
    return;
  }
  const auto loop = std::make_shared<Loop>(std::move(items), level,
                                           Loop::Repeat{.statement = s.is_recursive ? &s : nullptr, .scope = scope});
  for (std::size_t i = 0; i < loop->items().size(); ++i) {
    loop->go_to(i);
    budget_.make(sizeof(Scope));
    const auto within = inner(scope);
    within->set("loop", object_value(loop));
    assign(*s.target, loop->items()[i], *within, within);
    if (run(s.blocks[0], within) == Flow::kBreak) break;
  }
}

void Machine::run_set_block(const Statement& s, const std::shared_ptr<Scope>& scope) {
  Value text = capture(s.blocks[0], inner(scope));
  if (s.value) {
    const auto within = inner(scope);
    within->set("", text);
    text = evaluate(*s.value, within);
  }
  assign(*s.target, text, *scope, scope);
}

void Machine::run_call(const Statement& s, const std::shared_ptr<Scope>& scope) {
  const Value function = evaluate(*s.value->parts[0], scope);
  Arguments arguments = evaluate_arguments(s.value->arguments, scope);
  arguments.named.emplace_back("caller", object_value(std::make_shared<Macro>(s, "caller", scope)));
  keep(scope);
  write(text_of(call(function, std::move(arguments))));
}

void Machine::run_with(const Statement& s, const std::shared_ptr<Scope>& scope) {
  const auto within = inner(scope);
  for (std::size_t i = 0; i < s.targets.size(); ++i)
    assign(*s.targets[i], evaluate(*s.values[i], scope), *within, within);
  run(s.blocks[0], within);
}

// Within a macro the place is where the macro's text will begin, as in transformers.
void Machine::run_generation(const Statement& s, const std::shared_ptr<Scope>& scope) {
  const std::string text = capture(s.blocks[0], inner(scope));
  const std::size_t begin = output_.size();
  generated_.push_back({begin, begin + text.size()});
  write(text);
}

void Machine::assign(const Expression& target, const Value& value, Scope& scope, const std::shared_ptr<Scope>& where) {
  if (target.kind == ExpressionKind::kName) {
    scope.set(target.name, value);
    return;
  }
  if (target.kind == ExpressionKind::kAttribute) {
    const Value owner = evaluate(*target.parts[0], where);
    auto* space = dynamic_cast<Namespace*>(owner.object());
    require(space != nullptr, Errc::kInvalid, "line {}: cannot assign attribute on non-namespace object", target.line);
    space->set(target.name, value);
    return;
  }
  const bool has_items = value.is_text() || value.sequence() != nullptr || value.dict() != nullptr;
  require(has_items, Errc::kInvalid, "line {}: cannot unpack non-iterable {} object", target.line, value.type_name());
  const Values items = items_of(value);
  require(items.size() == target.parts.size(), Errc::kInvalid, "line {}: {} values are unpacked into {} names",
          target.line, items.size(), target.parts.size());
  for (std::size_t i = 0; i < items.size(); ++i) assign(*target.parts[i], items[i], scope, where);
}

}  // namespace tessera::jinja
