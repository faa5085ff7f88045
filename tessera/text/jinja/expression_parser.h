// Expressions of a template. The statements around them: statement_parser.cc.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tessera/text/jinja/syntax.h"
#include "tessera/text/jinja/token_reader.h"

namespace tessera::jinja {

class ExpressionParser final {
 public:
  explicit ExpressionParser(TokenReader& tokens) : tokens_(tokens) {}

  ExpressionPtr expression();                                  // with `a if b else c`
  ExpressionPtr without_condition();                           // what may stand before `if`
  ExpressionPtr tuple();                                       // `a, b` is one, without parentheses
  ExpressionPtr tuple_before_condition();                      // of for loops
  ExpressionPtr target();                                      // a name, an attribute of one, or a tuple of names
  ExpressionPtr filters_of(ExpressionPtr value, bool begins);  // begins: a name, without | before it
  CallArguments arguments();

 private:
  ExpressionPtr target_part();
  ExpressionPtr binary(std::string_view op, ExpressionPtr left, ExpressionPtr right);
  ExpressionPtr either();
  ExpressionPtr both();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters);
  ExpressionPtr primary();
  ExpressionPtr postfix(ExpressionPtr value);
  ExpressionPtr filters_and_tests(ExpressionPtr value);
  ExpressionPtr filter(ExpressionPtr value);
  ExpressionPtr test(ExpressionPtr value);
  ExpressionPtr subscript(ExpressionPtr value);
  ExpressionPtr subscript_part();
  ExpressionPtr parenthesized();
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr number();
  ExpressionPtr tuple_of(bool with_condition, bool in_parentheses);
  bool ends_tuple() const;
  ExpressionPtr make(ExpressionKind kind, std::vector<ExpressionPtr> parts = {}, std::string name = "") const;
  ExpressionPtr finish(ExpressionPtr made) const;  // counts its depth

  TokenReader& tokens_;
  int nesting_ = 0;
};

// Names that `{{ }}` cannot give to another value.
bool is_constant_name(std::string_view name);

}  // namespace tessera::jinja
