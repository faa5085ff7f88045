#include "tessera/text/jinja/token_reader.h"

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera::jinja {
namespace {

std::string describe(const Token& token) {
  switch (token.type) {
    case TokenType::kEnd:
      return "the end of the template";
    case TokenType::kText:
      return "text";
    case TokenType::kPrintEnd:
      return "'}}'";
    case TokenType::kBlockEnd:
      return "'%}'";
    case TokenType::kPrintBegin:
      return "'{{'";
    case TokenType::kBlockBegin:
      return "'{%'";
    default:
      return "'" + printable(token.value) + "'";
  }
}

}  // namespace

Token TokenReader::next() {
  Token token = here();
  if (token.type == TokenType::kName) {
    met_.varargs = met_.varargs || token.value == "varargs";
    met_.kwargs = met_.kwargs || token.value == "kwargs";
    met_.caller = met_.caller || token.value == "caller";
  }
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}
bool TokenReader::skip_operator(std::string_view op) {
  const bool there = is_operator(op);
  if (there) next();
  return there;
}
bool TokenReader::skip_name(std::string_view name) {
  const bool there = is_name(name);
  if (there) next();
  return there;
}
void TokenReader::expect_operator(std::string_view op) {
  require(is_operator(op), Errc::kCorrupt, "line {}: '{}' is expected, and {} is there", line(), op, describe(here()));
  next();
}
void TokenReader::expect(TokenType type) {
  if (here().type != type) fail_here();
  next();
}
std::string TokenReader::expect_name() {
  require(here().type == TokenType::kName, Errc::kCorrupt, "line {}: a name is expected, and {} is there", line(),
          describe(here()));
  return next().value;
}
void TokenReader::fail_here() const { fail(Errc::kCorrupt, "line {}: unexpected {}", line(), describe(here())); }

}  // namespace tessera::jinja
