// TokenReader: the tokens of a template, one after the other.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tessera/text/jinja/lexer.h"
#include "tessera/text/jinja/syntax.h"

namespace tessera::jinja {

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

}  // namespace tessera::jinja
