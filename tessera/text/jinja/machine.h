// Machine: renders the tree of a template. One for each rendering.
#pragma once
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/text/chat_template.h"
#include "tessera/text/jinja/syntax.h"
#include "tessera/text/jinja/value.h"

namespace tessera::jinja {

// What a rendering may still spend. Throws kResource when it is spent: the template comes from outside.
class Budget final {
 public:
  explicit Budget(const TemplateLimits& limits) : limits_(limits) {}

  void step(std::uint64_t count = 1);            // of work
  void make(std::uint64_t bytes);                // of text and lists; also counts as work
  void require_text(std::uint64_t bytes) const;  // before one text of so many bytes is made
  const TemplateLimits& limits() const { return limits_; }

  // Counts levels of evaluation while it lives.
  class Level final {
   public:
    explicit Level(Budget& budget);
    ~Level() { --budget_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

 private:
  TemplateLimits limits_;
  std::uint64_t steps_ = 0, bytes_ = 0;
  int depth_ = 0;
};

// Names and their values; those that are not here are looked for in the parent.
struct Scope {
  std::vector<std::pair<std::string, Value>> names{};
  std::shared_ptr<Scope> parent{};

  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

class Machine final {
 public:
  Machine(const TemplateLimits& limits, const std::tm& now);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  RenderedTemplate render(const Block& block, const Json& variables);

  Budget& budget() { return budget_; }
  const std::tm& now() const { return now_; }
  // str() and repr() of Python.
  std::string text_of(const Value& value);
  std::string repr_of(const Value& value);
  Value call(const Value& function, Arguments arguments);
  Value apply_filter(const std::string& name, const Value& value, Arguments arguments);
  bool apply_test(const std::string& name, const Value& value, Arguments arguments);
  // The items over which a loop goes. Throws kInvalid for what has none.
  Values items_of(const Value& value);
  // Objects that may hold themselves: what they hold is let go at the end.
  void keep(std::shared_ptr<Scope> scope) { kept_.push_back(std::move(scope)); }

  // The body of a macro, in a scope of its own below `outer`. Its text.
  std::string run_body(const Block& block, const std::shared_ptr<Scope>& scope);
  Value evaluate(const Expression& expression, const std::shared_ptr<Scope>& scope);
  // Of a recursive loop.
  std::string run_loop(const Statement& loop, Values items, const std::shared_ptr<Scope>& scope, int level);

 private:
  enum class Flow { kOn, kBreak, kContinue };

  Flow run(const Block& block, const std::shared_ptr<Scope>& scope);
  Flow run_statement(const Statement& s, const std::shared_ptr<Scope>& scope);
  Flow run_if(const Statement& s, const std::shared_ptr<Scope>& scope);
  void run_for(const Statement& s, Values items, const std::shared_ptr<Scope>& scope, int level);
  void run_set_block(const Statement& s, const std::shared_ptr<Scope>& scope);
  void run_call(const Statement& s, const std::shared_ptr<Scope>& scope);
  void run_with(const Statement& s, const std::shared_ptr<Scope>& scope);
  void run_generation(const Statement& s, const std::shared_ptr<Scope>& scope);
  std::string capture(const Block& block, const std::shared_ptr<Scope>& scope);
  void write(std::string_view text);
  void assign(const Expression& target, const Value& value, Scope& scope, const std::shared_ptr<Scope>& where);

  Value evaluate_unguarded(const Expression& e, const std::shared_ptr<Scope>& scope);
  Value evaluate_name(const Expression& e, const std::shared_ptr<Scope>& scope);
  Value evaluate_binary(const Expression& e, const std::shared_ptr<Scope>& scope);
  Value evaluate_compare(const Expression& e, const std::shared_ptr<Scope>& scope);
  Value evaluate_item(const Expression& e, const std::shared_ptr<Scope>& scope);
  Value evaluate_dict(const Expression& e, const std::shared_ptr<Scope>& scope);
  Value evaluate_filter(const Expression& e, const Value& value, const std::shared_ptr<Scope>& scope);
  Arguments evaluate_arguments(const CallArguments& arguments, const std::shared_ptr<Scope>& scope);

  Budget budget_;
  std::tm now_;
  std::shared_ptr<Scope> globals_;
  std::vector<std::shared_ptr<Scope>> kept_;
  std::string output_;               // what is rendered so far
  std::string* into_ = &output_;     // or what is captured
  std::vector<TextSpan> generated_;  // bytes of output_
};

// Runs; an Error without a line gets this one in front: the innermost line is named.
template <class Run>
auto naming_line(int line, const Run& run) {
  try {
    return run();
  } catch (const Error& e) {
    if (e.message().starts_with("line ")) throw;
    throw Error(e.code(), fmt::format("line {}: {}", line, e.message()));
  }
}

}  // namespace tessera::jinja
