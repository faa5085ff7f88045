// The objects that a template meets: functions and methods, namespaces, macros, loops, cyclers and joiners.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/text/jinja/machine.h"
#include "tessera/text/jinja/syntax.h"
#include "tessera/text/jinja/value.h"

namespace tessera::jinja {

class Function final : public Object {
 public:
  using Body = std::function<Value(Machine&, Arguments)>;
  Function(std::string_view type_name, Body body) : type_name_(type_name), body_(std::move(body)) {}
  std::string_view type_name() const override { return type_name_; }
  bool can_be_called() const override { return true; }
  Value call(Machine& machine, Arguments arguments) override { return body_(machine, std::move(arguments)); }

 private:
  std::string_view type_name_;
  Body body_;
};

// namespace(a=1): the one value that a template may change.
class Namespace final : public Object {
 public:
  explicit Namespace(std::shared_ptr<Scope> fields) : fields_(std::move(fields)) {}
  std::string_view type_name() const override { return "Namespace"; }
  std::optional<Value> attribute(std::string_view name) const override;
  std::string repr(Machine& machine) const override;
  void set(std::string_view name, Value value) { fields_->set(name, std::move(value)); }

 private:
  std::shared_ptr<Scope> fields_;
};

// {% macro %}, and the body of {% call %}.
class Macro final : public Object {
 public:
  // statement outlives the macro; scope: where it is defined.
  Macro(const Statement& statement, std::string name, std::shared_ptr<Scope> scope)
      : statement_(statement), name_(std::move(name)), scope_(std::move(scope)) {}
  std::string_view type_name() const override { return "Macro"; }
  std::optional<Value> attribute(std::string_view name) const override;
  bool can_be_called() const override { return true; }
  Value call(Machine& machine, Arguments arguments) override;

 private:
  void bind(Machine& machine, Arguments& arguments, const std::shared_ptr<Scope>& scope) const;
  const Statement& statement_;
  std::string name_;
  std::shared_ptr<Scope> scope_;
};

// `loop` within {% for %}.
class Loop final : public Object {
 public:
  struct Repeat {  // of a recursive loop; statement is null for others
    const Statement* statement = nullptr;
    std::shared_ptr<Scope> scope{};
  };
  Loop(Values items, int level, Repeat repeat) : items_(std::move(items)), level_(level), repeat_(std::move(repeat)) {}
  std::string_view type_name() const override { return "LoopContext"; }
  std::optional<Value> attribute(std::string_view name) const override;
  bool can_be_called() const override { return repeat_.statement != nullptr; }
  Value call(Machine& machine, Arguments arguments) override;

  const Values& items() const { return items_; }
  void go_to(std::size_t index) { index_ = index; }
  Value cycle(const Values& choices) const;
  bool changed(Machine& machine, Values values);

 private:
  Values items_;
  std::size_t index_ = 0;
  int level_;
  Repeat repeat_;
  std::optional<Values> last_changed_;
};

// range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
void add_globals(Scope& scope);

}  // namespace tessera::jinja
