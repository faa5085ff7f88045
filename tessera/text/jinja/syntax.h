// The tree of a template.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/text/jinja/value.h"

namespace tessera::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star, double_star;  // *list, **dict
};

enum class ExpressionKind {
  kConstant,     // constant
  kName,         // name
  kList,         // parts
  kTuple,        // parts
  kDict,         // parts: key, value, key, value...
  kAttribute,    // parts[0].name
  kItem,         // parts[0][parts[1]]
  kSlice,        // begin, end, step; null where absent
  kCall,         // parts[0](arguments)
  kFilter,       // parts[0] | name(arguments); parts[0] is null where a block is filtered
  kTest,         // parts[0] is name(arguments)
  kUnary,        // name: "-", "+", "not"
  kBinary,       // name: "+", "-", "*", "/", "//", "%", "**", "and", "or"
  kConcat,       // parts joined by ~
  kCompare,      // parts[0] operators[0] parts[1] operators[1] parts[2]...
  kConditional,  // parts: then, test, else; else is null where absent
};

struct Expression {
  ExpressionKind kind = ExpressionKind::kConstant;
  int line = 1;
  int depth = 1;  // of the tree below
  std::string name{};
  Value constant{};
  std::vector<ExpressionPtr> parts{};
  std::vector<std::string> operators{};
  CallArguments arguments{};
};

struct Statement;
using Block = std::vector<Statement>;

enum class StatementKind {
  kText,        // name: the text
  kPrint,       // value
  kIf,          // values: tests; blocks: one each, and one more for else
  kFor,         // target, value, test; blocks: body, else; is_recursive
  kSet,         // target, value
  kSetBlock,    // target, blocks[0]; value: filters, or null
  kMacro,       // name, parameters, blocks[0]
  kCall,        // value: the call; parameters, blocks[0]
  kFilter,      // value: filters; blocks[0]
  kWith,        // targets, values; blocks[0]
  kGeneration,  // blocks[0]
  kScope,       // blocks[0]: {% block %}
  kBreak,
  kContinue,
};

// The names that give a macro what its parameters do not take.
struct MacroNames {
  bool varargs = false, kwargs = false, caller = false;
};

struct Parameter {
  std::string name;
  ExpressionPtr otherwise;  // null: none
};

struct Statement {
  StatementKind kind = StatementKind::kText;
  int line = 1;
  std::string name{};
  ExpressionPtr value{}, test{}, target{};
  std::vector<ExpressionPtr> values{}, targets{};
  std::vector<Block> blocks{};
  std::vector<Parameter> parameters{};
  bool is_recursive = false;
  MacroNames uses{};  // of a macro's body
};

}  // namespace tessera::jinja
