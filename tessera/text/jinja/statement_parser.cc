#include <algorithm>
#include <array>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/text/jinja/expression_parser.h"
#include "tessera/text/jinja/parser.h"

namespace tessera::jinja {
namespace {

constexpr int kMaxBlocks = 50;

class StatementParser final {
 public:
  explicit StatementParser(std::vector<Token> tokens) : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Block parse() {
    Block block = parse_block({});
    if (tokens_.here().type != TokenType::kEnd) tokens_.fail_here();
    return block;
  }

 private:
  using Names = std::vector<std::string_view>;

  // Statements up to a tag called one of `ends`, which stays, its {% taken.
  Block parse_block(const Names& ends) {
    ++depth_;
    require(depth_ <= kMaxBlocks, Errc::kResource, "line {}: tags are nested more than {} levels deep", tokens_.line(),
            kMaxBlocks);
    Block block;
    const int first_line = tokens_.line();
    while (true) {
      const TokenType type = tokens_.here().type;
      if (type == TokenType::kText) {
        block.push_back({.kind = StatementKind::kText, .line = tokens_.line(), .name = tokens_.next().value});
      } else if (type == TokenType::kPrintBegin) {
        tokens_.next();
        Statement print{.kind = StatementKind::kPrint, .line = tokens_.line()};
        print.value = expressions_.tuple();
        tokens_.expect(TokenType::kPrintEnd);
        block.push_back(std::move(print));
      } else if (type == TokenType::kBlockBegin) {
        tokens_.next();
        if (is_one_of(ends)) break;
        block.push_back(parse_tag());
      } else {
        require(ends.empty(), Errc::kCorrupt, "line {}: a tag has no end; expected {}", first_line, quoted(ends));
        break;
      }
    }
    --depth_;
    return block;
  }

  bool is_one_of(const Names& names) const {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return tokens_.is_name(name); });
  }
  static std::string quoted(const Names& names) {
    std::string text;
    for (const std::string_view name : names) text += fmt::format("{}'{}'", text.empty() ? "" : " or ", name);
    return text;
  }

  // The block up to {% end %}, and that.
  Block body(std::string_view end) {
    tokens_.expect(TokenType::kBlockEnd);
    Block block = parse_block({end});
    tokens_.next();
    return block;
  }

  Statement parse_tag() {
    struct Tag {
      std::string_view name;
      void (StatementParser::*parse)(Statement&);
    };
    static constexpr std::array kTags = {Tag{"if", &StatementParser::parse_if},
                                         Tag{"for", &StatementParser::parse_for},
                                         Tag{"set", &StatementParser::parse_set},
                                         Tag{"macro", &StatementParser::parse_macro},
                                         Tag{"call", &StatementParser::parse_call},
                                         Tag{"filter", &StatementParser::parse_filter},
                                         Tag{"with", &StatementParser::parse_with},
                                         Tag{"generation", &StatementParser::parse_generation},
                                         Tag{"block", &StatementParser::parse_scope},
                                         Tag{"break", &StatementParser::parse_break},
                                         Tag{"continue", &StatementParser::parse_continue}};
    Statement statement{.line = tokens_.line()};
    const std::string name = tokens_.expect_name();
    std::string names;
    for (const Tag& tag : kTags) {
      if (tag.name == name) {
        (this->*tag.parse)(statement);
        tokens_.expect(TokenType::kBlockEnd);
        return statement;
      }
      names.append(names.empty() ? "" : ", ").append(tag.name);
    }
    require(!name.starts_with("end") && name != "elif" && name != "else", Errc::kCorrupt,
            "line {}: '{}' ends no tag that is open here", statement.line, printable(name));
    fail(Errc::kUnsupported, "line {}: no tag '{}'; there are: {}, raw", statement.line, printable(name), names);
  }

  void parse_if(Statement& s) {
    s.kind = StatementKind::kIf;
    while (true) {
      s.values.push_back(expressions_.expression());
      tokens_.expect(TokenType::kBlockEnd);
      s.blocks.push_back(parse_block({"elif", "else", "endif"}));
      if (tokens_.skip_name("elif")) continue;
      if (tokens_.skip_name("else"))
        s.blocks.push_back(body("endif"));
      else
        tokens_.next();
      return;
    }
  }

  void parse_for(Statement& s) {
    s.kind = StatementKind::kFor;
    s.target = expressions_.target();
    require(!assigns(*s.target, "loop"), Errc::kCorrupt, "line {}: nothing can be assigned to 'loop' in a for tag",
            s.line);
    require(tokens_.skip_name("in"), Errc::kCorrupt, "line {}: 'in' is expected in a for tag", s.line);
    s.value = expressions_.tuple_before_condition();
    if (tokens_.skip_name("if")) s.test = expressions_.expression();
    s.is_recursive = tokens_.skip_name("recursive");
    tokens_.expect(TokenType::kBlockEnd);
    ++loops_;
    s.blocks.push_back(parse_block({"else", "endfor"}));
    --loops_;
    s.blocks.emplace_back();
    if (tokens_.skip_name("else")) {
      s.blocks.back() = body("endfor");
    } else {
      tokens_.next();
    }
  }

  static bool assigns(const Expression& target, std::string_view name) {
    if (target.kind == ExpressionKind::kTuple)
      return std::any_of(target.parts.begin(), target.parts.end(),
                         [&](const ExpressionPtr& part) { return assigns(*part, name); });
    return target.kind == ExpressionKind::kName && target.name == name;
  }

  void parse_set(Statement& s) {
    s.target = expressions_.target();
    require(loops_ == 0 || !assigns(*s.target, "loop"), Errc::kCorrupt,
            "line {}: nothing can be assigned to 'loop' within a loop", s.line);
    if (tokens_.skip_operator("=")) {
      s.kind = StatementKind::kSet;
      s.value = expressions_.tuple();
      return;
    }
    s.kind = StatementKind::kSetBlock;
    s.value = expressions_.filters_of(nullptr, false);
    s.blocks.push_back(body("endset"));
  }

  // (a, b=1)
  std::vector<Parameter> parameters() {
    std::vector<Parameter> all;
    tokens_.expect_operator("(");
    while (!tokens_.is_operator(")")) {
      if (!all.empty()) tokens_.expect_operator(",");
      Parameter parameter{tokens_.expect_name(), nullptr};
      if (tokens_.skip_operator("=")) {
        parameter.otherwise = expressions_.expression();
      } else {
        require(all.empty() || !all.back().otherwise, Errc::kCorrupt,
                "line {}: the parameter '{}' needs a default, as the one before it has one", tokens_.line(),
                parameter.name);
      }
      all.push_back(std::move(parameter));
    }
    tokens_.expect_operator(")");
    return all;
  }

  // The body of a macro or call block; names that it uses decide which further arguments are taken.
  void parse_macro_body(Statement& s, std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    const MacroNames outer = std::exchange(tokens_.met(), {});
    s.blocks.push_back(body(end));
    s.uses = std::exchange(tokens_.met(), outer);
    loops_ = loops;
  }

  void parse_macro(Statement& s) {
    s.kind = StatementKind::kMacro;
    s.name = tokens_.expect_name();
    s.parameters = parameters();
    parse_macro_body(s, "endmacro");
  }

  void parse_call(Statement& s) {
    s.kind = StatementKind::kCall;
    if (tokens_.is_operator("(")) s.parameters = parameters();
    s.value = expressions_.expression();
    require(s.value->kind == ExpressionKind::kCall, Errc::kCorrupt, "line {}: a call tag needs a call", s.line);
    parse_macro_body(s, "endcall");
  }

  void parse_filter(Statement& s) {
    s.kind = StatementKind::kFilter;
    s.value = expressions_.filters_of(nullptr, true);
    s.blocks.push_back(body("endfilter"));
  }

  void parse_with(Statement& s) {
    s.kind = StatementKind::kWith;
    while (tokens_.here().type != TokenType::kBlockEnd) {
      if (!s.targets.empty()) tokens_.expect_operator(",");
      s.targets.push_back(expressions_.target());
      tokens_.expect_operator("=");
      s.values.push_back(expressions_.expression());
    }
    s.blocks.push_back(body("endwith"));
  }

  void parse_generation(Statement& s) {
    s.kind = StatementKind::kGeneration;
    s.blocks.push_back(body("endgeneration"));
  }

  void parse_scope(Statement& s) {
    s.kind = StatementKind::kScope;
    s.name = tokens_.expect_name();
    s.blocks.push_back(body("endblock"));
    if (tokens_.here().type == TokenType::kName) tokens_.next();
  }

  void parse_break(Statement& s) { leave_loop(s, StatementKind::kBreak); }
  void parse_continue(Statement& s) { leave_loop(s, StatementKind::kContinue); }
  void leave_loop(Statement& s, StatementKind kind) {
    require(loops_ > 0, Errc::kCorrupt, "line {}: a loop is left outside of one", s.line);
    s.kind = kind;
  }

  TokenReader tokens_;
  ExpressionParser expressions_;
  int depth_ = 0;
  int loops_ = 0;  // that are open here
};

}  // namespace

Block parse_template(std::string_view source) { return StatementParser(read_tokens(source)).parse(); }

}  // namespace tessera::jinja
