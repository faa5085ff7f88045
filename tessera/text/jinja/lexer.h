// The tokens of a template. Whitespace is settled here: trim_blocks, lstrip_blocks, "-" and "+" at the delimiters.
// Source: Jinja 3.1, "Template Designer Documentation"; transformers renders chat templates with trim_blocks and
// lstrip_blocks on.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera::jinja {

enum class TokenType {
  kText,        // between the delimiters
  kPrintBegin,  // {{
  kPrintEnd,    // }}
  kBlockBegin,  // {%
  kBlockEnd,    // %}
  kName,
  kString,   // value: without quotes and escapes
  kInteger,  // value: digits, maybe with 0x, 0o, 0b
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenType type = TokenType::kEnd;
  std::string value;
  int line = 1;
};

// The last token is kEnd. Throws kCorrupt, with the line, for text that is no template.
std::vector<Token> read_tokens(std::string_view source);

}  // namespace tessera::jinja
