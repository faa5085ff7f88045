#include "tessera/text/jinja/lexer.h"

#include <algorithm>
#include <array>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/text/jinja/string_literal.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {
namespace {

// Line ends become \n; the last one goes.
std::string with_plain_line_ends(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer final {
 public:
  explicit Lexer(std::string_view source) : source_(with_plain_line_ends(source)), text_(source_) {}

  std::vector<Token> read() {
    while (at_ < text_.size()) read_text();
    add(TokenType::kEnd, "");
    return std::move(tokens_);
  }

 private:
  bool follows(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void add(TokenType type, std::string value) { tokens_.push_back({type, std::move(value), line_}); }
  void skip(std::size_t bytes) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(at_ + bytes), '\n'));
    at_ += bytes;
  }
  void skip_space() {
    while (at_ < text_.size()) {
      const CodePoint c = read_code_point(text_, at_);
      if (!is_python_space(c.value)) break;
      skip(c.bytes);
    }
  }

  // The text before the next delimiter, then what the delimiter begins.
  void read_text() {
    std::size_t open = at_;
    while (true) {
      open = text_.find('{', open);
      if (open == std::string_view::npos || open + 1 >= text_.size()) {
        open = text_.size();
        break;
      }
      const char kind = text_[open + 1];
      if (kind == '{' || kind == '%' || kind == '#') break;
      ++open;
    }
    if (open == text_.size()) {
      add_text(text_.substr(at_));
      skip(text_.size() - at_);
      return;
    }
    const char kind = text_[open + 1];
    const char sign =
        open + 2 < text_.size() && (text_[open + 2] == '-' || text_[open + 2] == '+') ? text_[open + 2] : 0;
    add_text(stripped(text_.substr(at_, open - at_), sign, kind != '{'));
    skip(open - at_ + (sign != 0 ? 3 : 2));
    line_starts_ = false;
    if (kind == '#') return skip_comment();
    if (kind == '%' && skip_raw_begin()) return read_raw();
    add(kind == '{' ? TokenType::kPrintBegin : TokenType::kBlockBegin, "");
    read_expression(kind == '{');
  }

  void add_text(std::string_view text) {
    if (!text.empty()) add(TokenType::kText, std::string(text));
  }

  // The text before a delimiter. lstrip_blocks: white space between the beginning of the line and a block goes.
  std::string_view stripped(std::string_view text, char sign, bool is_block) const {
    if (sign == '-') {
      while (!text.empty()) {
        const std::size_t last = code_point_before(text, text.size());
        if (!is_python_space(read_code_point(text, last).value)) break;
        text = text.substr(0, last);
      }
      return text;
    }
    if (sign == '+' || !is_block) return text;
    const std::size_t newline = text.rfind('\n');
    const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    if (start == 0 && !line_starts_) return text;
    for (std::size_t i = start; i < text.size();) {
      const CodePoint c = read_code_point(text, i);
      if (!is_python_space(c.value)) return text;
      i += c.bytes;
    }
    return text.substr(0, start);
  }

  // Behind %} and #}. trim_blocks: one line end goes.
  void trim_after_block() {
    line_starts_ = follows("\n");
    if (line_starts_) skip(1);
  }
  void skip_space_after_end() {
    const std::size_t begin = at_;
    skip_space();
    line_starts_ = at_ > begin && text_[at_ - 1] == '\n';
  }

  void skip_comment() {
    const std::size_t end = text_.find("#}", at_);
    require(end != std::string_view::npos, Errc::kCorrupt, "line {}: a comment has no end", line_);
    const char sign = end > at_ && (text_[end - 1] == '-' || text_[end - 1] == '+') ? text_[end - 1] : 0;
    skip(end + 2 - at_);
    end_block(sign);
  }
  void end_block(char sign) {
    line_starts_ = false;
    if (sign == '-') {
      skip_space_after_end();
    } else if (sign != '+') {
      trim_after_block();
    }
  }

  // `raw %}` behind {%. Its end is no %} of trim_blocks.
  bool skip_raw_begin() {
    const std::size_t begin = at_;
    const int line = line_;
    skip_space();
    if (follows("raw")) {
      skip(3);
      skip_space();
      if (follows("-%}")) {
        skip(3);
        skip_space_after_end();
        return true;
      }
      if (follows("%}")) {
        skip(2);
        return true;
      }
    }
    at_ = begin;
    line_ = line;
    return false;
  }

  void read_raw() {
    const int line = line_;
    for (std::size_t open = text_.find("{%", at_); open != std::string_view::npos; open = text_.find("{%", open + 2)) {
      std::size_t i = open + 2;
      const char sign = i < text_.size() && (text_[i] == '-' || text_[i] == '+') ? text_[i++] : 0;
      while (i < text_.size() && is_python_space(read_code_point(text_, i).value)) i += read_code_point(text_, i).bytes;
      if (!text_.substr(i).starts_with("endraw")) continue;
      i += 6;
      while (i < text_.size() && is_python_space(read_code_point(text_, i).value)) i += read_code_point(text_, i).bytes;
      const char end_sign = i < text_.size() && (text_[i] == '-' || text_[i] == '+') ? text_[i++] : 0;
      if (!text_.substr(i).starts_with("%}")) continue;
      add_text(stripped(text_.substr(at_, open - at_), sign, true));
      skip(i + 2 - at_);
      return end_block(end_sign);
    }
    fail(Errc::kCorrupt, "line {}: {{% raw %}} has no {{% endraw %}}", line);
  }

  // Up to }} or %}; brackets within stay closed first.
  void read_expression(bool is_print) {
    std::string open_brackets;
    const int line = line_;
    while (true) {
      skip_space();
      require(at_ < text_.size(), Errc::kCorrupt, "line {}: {} has no end", line, is_print ? "{{" : "{%");
      if (open_brackets.empty() && end_of(is_print)) return;
      read_token(open_brackets);
    }
  }

  bool end_of(bool is_print) {
    const std::string_view end = is_print ? "}}" : "%}";
    const bool has_minus = follows("-") && text_.substr(at_ + 1).starts_with(end);
    const bool has_plus = !is_print && follows("+") && text_.substr(at_ + 1).starts_with(end);
    if (!has_minus && !has_plus && !follows(end)) return false;
    add(is_print ? TokenType::kPrintEnd : TokenType::kBlockEnd, "");
    skip(has_minus || has_plus ? 3 : 2);
    if (is_print) {
      line_starts_ = false;
      if (has_minus) skip_space_after_end();
    } else {
      end_block(has_minus ? '-' : has_plus ? '+' : static_cast<char>(0));
    }
    return true;
  }

  void read_token(std::string& open_brackets) {
    const char c = text_[at_];
    if (is_digit(c)) return read_number();
    if (c == '\'' || c == '"') return read_string(c);
    const CodePoint first = read_code_point(text_, at_);
    if (c == '_' || is_word(first.value)) return read_name();
    constexpr std::array<std::string_view, 27> kOperators = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "*",
                                                             "/",  "%",  "~",  "<",  ">",  "=",  "|", ",", ":",
                                                             ";",  ".",  "(",  ")",  "[",  "]",  "{", "}", ""};
    const auto* found =
        std::find_if(kOperators.begin(), kOperators.end(), [&](std::string_view op) { return follows(op); });
    require(!found->empty(), Errc::kCorrupt, "line {}: unexpected character '{}'", line_,
            printable(text_.substr(at_, first.bytes)));
    match_bracket(c, open_brackets);
    add(TokenType::kOperator, std::string(*found));
    skip(found->size());
  }

  void match_bracket(char c, std::string& open) const {
    if (c == '(') open += ')';
    if (c == '[') open += ']';
    if (c == '{') open += '}';
    if (c != ')' && c != ']' && c != '}') return;
    require(!open.empty(), Errc::kCorrupt, "line {}: unexpected '{}'", line_, c);
    require(open.back() == c, Errc::kCorrupt, "line {}: unexpected '{}', expected '{}'", line_, c, open.back());
    open.pop_back();
  }

  void read_name() {
    std::size_t end = at_;
    while (end < text_.size()) {
      const CodePoint c = read_code_point(text_, end);
      if (c.value != '_' && !is_word(c.value)) break;
      end += c.bytes;
    }
    add(TokenType::kName, std::string(text_.substr(at_, end - at_)));
    skip(end - at_);
  }

  void read_string(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    require(end < text_.size(), Errc::kCorrupt, "line {}: a text has no closing {}", line_, quote);
    add(TokenType::kString, unescape_literal(text_.substr(at_ + 1, end - at_ - 1), line_));
    skip(end + 1 - at_);
  }

  // Digits may have single underscores between them.
  std::size_t end_of_digits(std::size_t i, const auto& is_one) const {
    while (i < text_.size() && (is_one(text_[i]) || (text_[i] == '_' && i + 1 < text_.size() && is_one(text_[i + 1]))))
      ++i;
    return i;
  }

  void read_number() {
    const char prefix = at_ + 1 < text_.size() ? static_cast<char>(text_[at_ + 1] | 0x20) : static_cast<char>(0);
    TokenType type = TokenType::kInteger;
    std::size_t end = at_;
    if (text_[at_] == '0' && (prefix == 'x' || prefix == 'o' || prefix == 'b')) {
      end = end_of_digits(at_ + 2, [](char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); });
    } else {
      end = end_of_digits(at_, is_digit);
      if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
        type = TokenType::kFloat;
        end = end_of_digits(end + 1, is_digit);
      }
      if (end < text_.size() && (text_[end] | 0x20) == 'e') {
        std::size_t exponent = end + 1;
        if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
        if (exponent < text_.size() && is_digit(text_[exponent])) {
          type = TokenType::kFloat;
          end = end_of_digits(exponent, is_digit);
        }
      }
    }
    std::string digits(text_.substr(at_, end - at_));
    std::erase(digits, '_');
    add(type, std::move(digits));
    skip(end - at_);
  }

  std::string source_;
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  // the text that follows begins a line
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> read_tokens(std::string_view source) {
  const std::size_t valid = valid_utf8_prefix(source);
  require(valid == source.size(), Errc::kCorrupt, "the template is not UTF-8 from byte {} on", valid);
  return Lexer(source).read();
}

}  // namespace tessera::jinja
