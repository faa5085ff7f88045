#include "tessera/text/jinja/expression_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/text/jinja/filters.h"
#include "tessera/text/jinja/tests.h"

namespace tessera::jinja {
namespace {

constexpr int kMaxTree = 150, kMaxNesting = 50;

template <class... Parts>
std::vector<ExpressionPtr> parts_of(Parts... parts) {
  std::vector<ExpressionPtr> list;
  (list.push_back(std::move(parts)), ...);
  return list;
}

Integer parse_integer(const std::string& digits, int line) {
  int base = 10;
  std::size_t at = 0;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) >= 'b') {
    const char prefix = static_cast<char>(digits[1] | 0x20);
    base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : 2;
    at = 2;
  }
  Integer value = 0;
  for (; at < digits.size(); ++at) {
    const int digit = digits[at] <= '9' ? digits[at] - '0' : (digits[at] | 0x20) - 'a' + 10;
    require(digit < base, Errc::kCorrupt, "line {}: '{}' is no number", line, printable(digits));
    require(
        !__builtin_mul_overflow(value, Integer{base}, &value) && !__builtin_add_overflow(value, Integer{digit}, &value),
        Errc::kUnsupported, "line {}: {} is too large; integers have 127 bits", line, printable(digits));
  }
  return value;
}

}  // namespace

bool is_constant_name(std::string_view name) {
  constexpr std::array<std::string_view, 6> kConstants = {"true", "false", "none", "True", "False", "None"};
  return std::find(kConstants.begin(), kConstants.end(), name) != kConstants.end();
}

ExpressionPtr ExpressionParser::finish(ExpressionPtr made) const {
  const auto include = [&](const ExpressionPtr& part) {
    if (part) made->depth = std::max(made->depth, 1 + part->depth);
  };
  for (const ExpressionPtr& part : made->parts) include(part);
  for (const ExpressionPtr& part : made->arguments.positional) include(part);
  for (const auto& [name, part] : made->arguments.named) include(part);
  include(made->arguments.star);
  include(made->arguments.double_star);
  require(made->depth <= kMaxTree, Errc::kResource, "line {}: an expression is more than {} levels deep", made->line,
          kMaxTree);
  return made;
}

ExpressionPtr ExpressionParser::make(ExpressionKind kind, std::vector<ExpressionPtr> parts, std::string name) const {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->line = !parts.empty() && parts[0] ? parts[0]->line : tokens_.line();  // where it begins
  made->name = std::move(name);
  made->parts = std::move(parts);
  return finish(std::move(made));
}

ExpressionPtr ExpressionParser::binary(std::string_view op, ExpressionPtr left, ExpressionPtr right) {
  return make(ExpressionKind::kBinary, parts_of(std::move(left), std::move(right)), std::string(op));
}

ExpressionPtr ExpressionParser::expression() {
  ++nesting_;
  require(nesting_ <= kMaxNesting, Errc::kResource, "line {}: expressions are nested more than {} levels deep",
          tokens_.line(), kMaxNesting);
  ExpressionPtr value = either();
  while (tokens_.skip_name("if")) {
    ExpressionPtr test = either();
    ExpressionPtr otherwise = tokens_.skip_name("else") ? expression() : nullptr;
    value = make(ExpressionKind::kConditional, parts_of(std::move(value), std::move(test), std::move(otherwise)));
  }
  --nesting_;
  return value;
}

ExpressionPtr ExpressionParser::without_condition() { return either(); }

ExpressionPtr ExpressionParser::either() {
  ExpressionPtr left = both();
  while (tokens_.skip_name("or")) left = binary("or", std::move(left), both());
  return left;
}

ExpressionPtr ExpressionParser::both() {
  ExpressionPtr left = negation();
  while (tokens_.skip_name("and")) left = binary("and", std::move(left), negation());
  return left;
}

ExpressionPtr ExpressionParser::negation() {
  int count = 0;
  while (tokens_.is_name("not")) {
    tokens_.next();
    require(++count <= kMaxNesting, Errc::kResource, "line {}: too many 'not'", tokens_.line());
  }
  ExpressionPtr value = comparison();
  for (; count > 0; --count) value = make(ExpressionKind::kUnary, parts_of(std::move(value)), "not");
  return value;
}

ExpressionPtr ExpressionParser::comparison() {
  constexpr std::array<std::string_view, 6> kOperators = {"==", "!=", "<", "<=", ">", ">="};
  ExpressionPtr compare = make(ExpressionKind::kCompare);
  compare->parts.push_back(sum());
  while (true) {
    const Token& here = tokens_.here();
    if (here.type == TokenType::kOperator &&
        std::find(kOperators.begin(), kOperators.end(), here.value) != kOperators.end()) {
      compare->operators.push_back(tokens_.next().value);
    } else if (tokens_.skip_name("in")) {
      compare->operators.emplace_back("in");
    } else if (tokens_.is_name("not") && tokens_.ahead().type == TokenType::kName && tokens_.ahead().value == "in") {
      tokens_.next();
      tokens_.next();
      compare->operators.emplace_back("not in");
    } else {
      break;
    }
    compare->parts.push_back(sum());
  }
  return compare->operators.empty() ? std::move(compare->parts[0]) : finish(std::move(compare));
}

ExpressionPtr ExpressionParser::sum() {
  ExpressionPtr left = concatenation();
  while (tokens_.is_operator("+") || tokens_.is_operator("-")) {
    const std::string op = tokens_.next().value;
    left = binary(op, std::move(left), concatenation());
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  ExpressionPtr first = product();
  if (!tokens_.is_operator("~")) return first;
  ExpressionPtr joined = make(ExpressionKind::kConcat, parts_of(std::move(first)));
  while (tokens_.skip_operator("~")) joined->parts.push_back(product());
  return finish(std::move(joined));
}

ExpressionPtr ExpressionParser::product() {
  ExpressionPtr left = power();
  while (tokens_.is_operator("*") || tokens_.is_operator("/") || tokens_.is_operator("//") ||
         tokens_.is_operator("%")) {
    const std::string op = tokens_.next().value;
    left = binary(op, std::move(left), power());
  }
  return left;
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr left = unary(true);
  while (tokens_.skip_operator("**")) left = binary("**", std::move(left), unary(true));
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  std::vector<std::string> signs;
  while (tokens_.is_operator("-") || tokens_.is_operator("+")) {
    signs.push_back(tokens_.next().value);
    require(signs.size() <= static_cast<std::size_t>(kMaxNesting), Errc::kResource, "line {}: too many signs",
            tokens_.line());
  }
  ExpressionPtr value = postfix(primary());
  if (with_filters && signs.empty()) return filters_and_tests(std::move(value));
  for (; !signs.empty(); signs.pop_back())
    value = make(ExpressionKind::kUnary, parts_of(std::move(value)), signs.back());
  return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::number() {
  const Token token = tokens_.next();
  ExpressionPtr constant = make(ExpressionKind::kConstant);
  if (token.type == TokenType::kInteger) {
    constant->constant = parse_integer(token.value, token.line);
  } else {
    double value = 0;
    std::from_chars(token.value.data(), token.value.data() + token.value.size(), value);
    constant->constant = value;
  }
  return constant;
}

ExpressionPtr ExpressionParser::primary() {
  const Token& here = tokens_.here();
  if (here.type == TokenType::kInteger || here.type == TokenType::kFloat) return number();
  if (here.type == TokenType::kString) {
    ExpressionPtr constant = make(ExpressionKind::kConstant);
    std::string text;
    while (tokens_.here().type == TokenType::kString) text += tokens_.next().value;
    constant->constant = Value(std::move(text));
    return constant;
  }
  if (here.type == TokenType::kName) {
    const std::string name = tokens_.next().value;
    if (!is_constant_name(name)) return make(ExpressionKind::kName, {}, name);
    ExpressionPtr constant = make(ExpressionKind::kConstant);
    if ((name[0] | 0x20) != 'n') constant->constant = (name[0] | 0x20) == 't';
    return constant;
  }
  if (tokens_.is_operator("(")) return parenthesized();
  if (tokens_.is_operator("[")) return list();
  if (tokens_.is_operator("{")) return dict();
  tokens_.fail_here();
}

ExpressionPtr ExpressionParser::parenthesized() {
  tokens_.expect_operator("(");
  ExpressionPtr value = tuple_of(true, true);
  tokens_.expect_operator(")");
  return value;
}

ExpressionPtr ExpressionParser::list() {
  tokens_.expect_operator("[");
  ExpressionPtr made = make(ExpressionKind::kList);
  while (!tokens_.is_operator("]")) {
    if (!made->parts.empty()) tokens_.expect_operator(",");
    if (tokens_.is_operator("]")) break;
    made->parts.push_back(expression());
  }
  tokens_.expect_operator("]");
  return finish(std::move(made));
}

ExpressionPtr ExpressionParser::dict() {
  tokens_.expect_operator("{");
  ExpressionPtr made = make(ExpressionKind::kDict);
  while (!tokens_.is_operator("}")) {
    if (!made->parts.empty()) tokens_.expect_operator(",");
    if (tokens_.is_operator("}")) break;
    made->parts.push_back(expression());
    tokens_.expect_operator(":");
    made->parts.push_back(expression());
  }
  tokens_.expect_operator("}");
  return finish(std::move(made));
}

bool ExpressionParser::ends_tuple() const {
  const TokenType type = tokens_.here().type;
  return type == TokenType::kPrintEnd || type == TokenType::kBlockEnd || type == TokenType::kEnd ||
         tokens_.is_operator(")");
}

ExpressionPtr ExpressionParser::tuple_of(bool with_condition, bool in_parentheses) {
  std::vector<ExpressionPtr> items;
  bool has_comma = false;
  while (!ends_tuple() && !tokens_.is_name("in")) {
    items.push_back(with_condition ? expression() : without_condition());
    if (!tokens_.skip_operator(",")) break;
    has_comma = true;
  }
  if (!has_comma && items.size() == 1) return std::move(items[0]);
  if (items.empty() && !in_parentheses) tokens_.fail_here();
  return make(ExpressionKind::kTuple, std::move(items));
}

ExpressionPtr ExpressionParser::tuple() { return tuple_of(true, false); }
ExpressionPtr ExpressionParser::tuple_before_condition() { return tuple_of(false, false); }

// A name, an attribute of one, or a tuple of these in parentheses.
ExpressionPtr ExpressionParser::target_part() {
  if (tokens_.skip_operator("(")) {
    ++nesting_;
    require(nesting_ <= kMaxNesting, Errc::kResource, "line {}: names are nested more than {} levels deep",
            tokens_.line(), kMaxNesting);
    ExpressionPtr inner = target();
    --nesting_;
    tokens_.expect_operator(")");
    return inner;
  }
  const int line = tokens_.line();
  const std::string name = tokens_.expect_name();
  require(!is_constant_name(name), Errc::kCorrupt, "line {}: nothing can be assigned to '{}'", line, name);
  ExpressionPtr made = make(ExpressionKind::kName, {}, name);
  if (!tokens_.skip_operator(".")) return made;
  return make(ExpressionKind::kAttribute, parts_of(std::move(made)), tokens_.expect_name());
}

ExpressionPtr ExpressionParser::target() {
  std::vector<ExpressionPtr> names;
  names.push_back(target_part());
  if (!tokens_.is_operator(",")) return std::move(names[0]);
  while (tokens_.skip_operator(",")) {
    if (ends_tuple() || tokens_.is_operator("=") || tokens_.is_name("in")) break;
    names.push_back(target_part());
  }
  return make(ExpressionKind::kTuple, std::move(names));
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr value) {
  while (true) {
    if (tokens_.is_operator(".") || tokens_.is_operator("[")) {
      value = subscript(std::move(value));
    } else if (tokens_.is_operator("(")) {
      ExpressionPtr call = make(ExpressionKind::kCall, parts_of(std::move(value)));
      call->arguments = arguments();
      value = finish(std::move(call));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr value) {
  while (true) {
    if (tokens_.skip_operator("|")) {
      value = filter(std::move(value));
    } else if (tokens_.skip_name("is")) {
      value = test(std::move(value));
    } else if (tokens_.is_operator("(")) {
      ExpressionPtr call = make(ExpressionKind::kCall, parts_of(std::move(value)));
      call->arguments = arguments();
      value = finish(std::move(call));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::filters_of(ExpressionPtr value, bool begins) {
  if (begins) value = filter(std::move(value));
  while (tokens_.skip_operator("|")) value = filter(std::move(value));
  return value;
}

ExpressionPtr ExpressionParser::filter(ExpressionPtr value) {
  ExpressionPtr made = make(ExpressionKind::kFilter, parts_of(std::move(value)));
  made->name = tokens_.expect_name();
  if (find_filter(made->name) == nullptr)
    fail(Errc::kUnsupported, "line {}: no filter '{}'; there are: {}", made->line, made->name, filter_names());
  if (tokens_.is_operator("(")) made->arguments = arguments();
  return finish(std::move(made));
}

ExpressionPtr ExpressionParser::test(ExpressionPtr value) {
  const bool negated = tokens_.skip_name("not");
  ExpressionPtr made = make(ExpressionKind::kTest, parts_of(std::move(value)));
  made->name = tokens_.expect_name();
  if (find_test(made->name) == nullptr)
    fail(Errc::kUnsupported, "line {}: no test '{}'; there are: {}", made->line, made->name, test_names());
  const Token& here = tokens_.here();
  const bool is_word = here.type == TokenType::kName && here.value != "else" && here.value != "or" &&
                       here.value != "and" && here.value != "if" && here.value != "not" && here.value != "in";
  if (tokens_.is_operator("(")) {
    made->arguments = arguments();
  } else if (is_word || here.type == TokenType::kString || here.type == TokenType::kInteger ||
             here.type == TokenType::kFloat || tokens_.is_operator("[") || tokens_.is_operator("{")) {
    require(!tokens_.is_name("is"), Errc::kCorrupt, "line {}: tests cannot be chained with 'is'", here.line);
    made->arguments.positional.push_back(postfix(primary()));
  }
  made = finish(std::move(made));
  return negated ? make(ExpressionKind::kUnary, parts_of(std::move(made)), "not") : std::move(made);
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr value) {
  if (tokens_.skip_operator(".")) {
    if (tokens_.here().type == TokenType::kInteger)
      return make(ExpressionKind::kItem, parts_of(std::move(value), number()));
    return make(ExpressionKind::kAttribute, parts_of(std::move(value)), tokens_.expect_name());
  }
  tokens_.expect_operator("[");
  ExpressionPtr key = subscript_part();
  if (tokens_.is_operator(",")) {
    key = make(ExpressionKind::kTuple, parts_of(std::move(key)));
    while (tokens_.skip_operator(",")) key->parts.push_back(subscript_part());
    key = finish(std::move(key));
  }
  tokens_.expect_operator("]");
  return make(ExpressionKind::kItem, parts_of(std::move(value), std::move(key)));
}

// An expression, or begin:end:step.
ExpressionPtr ExpressionParser::subscript_part() {
  ExpressionPtr first = tokens_.is_operator(":") ? nullptr : expression();
  if (!tokens_.is_operator(":")) return first;
  std::vector<ExpressionPtr> parts = parts_of(std::move(first), ExpressionPtr(), ExpressionPtr());
  for (std::size_t i = 1; i < 3 && tokens_.skip_operator(":"); ++i)
    if (!tokens_.is_operator(":") && !tokens_.is_operator("]") && !tokens_.is_operator(",")) parts[i] = expression();
  return make(ExpressionKind::kSlice, std::move(parts));
}

CallArguments ExpressionParser::arguments() {
  CallArguments all;
  tokens_.expect_operator("(");
  bool first = true;
  while (!tokens_.is_operator(")")) {
    if (!first) tokens_.expect_operator(",");
    first = false;
    if (tokens_.is_operator(")")) break;
    const bool is_named = tokens_.here().type == TokenType::kName && tokens_.ahead().type == TokenType::kOperator &&
                          tokens_.ahead().value == "=";
    if (tokens_.skip_operator("*")) {
      if (all.star || all.double_star) tokens_.fail_here();
      all.star = expression();
    } else if (tokens_.skip_operator("**")) {
      if (all.double_star) tokens_.fail_here();
      all.double_star = expression();
    } else if (is_named) {
      std::string name = tokens_.expect_name();
      tokens_.expect_operator("=");
      all.named.emplace_back(std::move(name), expression());
    } else {
      if (!all.named.empty() || all.star || all.double_star) tokens_.fail_here();
      all.positional.push_back(expression());
    }
  }
  tokens_.expect_operator(")");
  return all;
}

}  // namespace tessera::jinja
