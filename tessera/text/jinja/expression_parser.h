// Expressions of a template. The statements around them: statement_parser.cc.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/text/jinja/lexer.h"
#include "tessera/text/jinja/syntax.h"

namespace tessera::jinja {

// The tokens, one after the other.
class TokenReader final {
 public:
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& here() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  int line() const { return here().line; }
  Token next();
  bool is_operator(std::string_view op) const { return here().type == TokenType::kOperator && here().value == op; }
  bool is_name(std::string_view name) const { return here().type == TokenType::kName && here().value == name; }
  bool skip_operator(std::string_view op);  // whether it was there
  bool skip_name(std::string_view name);
  void expect_operator(std::string_view op);  // each throws kCorrupt, with the line
  void expect(TokenType type);
  std::string expect_name();
  [[noreturn]] void fail_here() const;
  MacroNames& met() { return met_; }  // which of these names have been read

 private:
  MacroNames met_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

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
