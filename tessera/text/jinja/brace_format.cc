#include "tessera/text/jinja/brace_format.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/text/jinja/number_format.h"
#include "tessera/text/jinja/operators.h"

namespace tessera::jinja {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class BraceFormatter final {
 public:
  BraceFormatter(Machine& machine, Arguments arguments) : machine_(machine), arguments_(std::move(arguments)) {}

  // depth: a specification may hold fields, those of it may not.
  std::string format(std::string_view text, int depth) {
    require(depth < 2, Errc::kInvalid, "Max string recursion exceeded");
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
        out += c;
        ++i;
      } else if (c == '{') {
        const std::size_t end = end_of_field(text, i + 1);
        out += field(text.substr(i + 1, end - i - 1), depth);
        machine_.budget().require_text(out.size());
        i = end;
      } else {
        require(c != '}', Errc::kInvalid, "Single '}}' encountered in format string");
        out += c;
      }
    }
    return out;
  }

 private:
  static std::size_t end_of_field(std::string_view text, std::size_t at) {
    int open = 1;
    for (; at < text.size(); ++at) {
      if (text[at] == '{') ++open;
      if (text[at] == '}' && --open == 0) return at;
    }
    fail(Errc::kInvalid, "expected '}}' before end of string");
  }

  // name[!conversion][:specification]
  std::string field(std::string_view text, int depth) {
    std::size_t end = text.find_first_of("!:[");
    while (end != std::string_view::npos && text[end] == '[') {  // a key may hold ! and :
      const std::size_t close = text.find(']', end);
      end = close == std::string_view::npos ? close : text.find_first_of("!:[", close);
    }
    Value value = lookup(text.substr(0, end));
    std::string_view rest = end == std::string_view::npos ? std::string_view() : text.substr(end);
    if (rest.starts_with('!')) {
      const char conversion = rest.size() > 1 ? rest[1] : static_cast<char>(0);
      require(conversion == 'r' || conversion == 's', Errc::kInvalid, "Unknown conversion specifier '{}'",
              printable(rest));
      value = conversion == 'r' ? machine_.repr_of(value) : machine_.text_of(value);
      rest.remove_prefix(2);
    }
    if (rest.empty()) return machine_.text_of(value);
    require(rest[0] == ':', Errc::kInvalid, "expected ':' after conversion specifier");
    const std::string spec = format(rest.substr(1), depth + 1);
    if (spec.empty()) return machine_.text_of(value);
    return format_value(machine_, value, parse_format_spec(spec));
  }

  // The argument, then .name and [key].
  Value lookup(std::string_view path) {
    const std::size_t end = std::min(path.find('.'), path.find('['));
    Value value = argument(path.substr(0, end));
    while (true) {
      path = end_of(path, value);
      if (path.empty()) return value;
    }
  }

  std::string_view end_of(std::string_view path, Value& value) {
    const std::size_t begin = std::min(path.find('.'), path.find('['));
    if (begin == std::string_view::npos) return {};
    path.remove_prefix(begin);
    if (path[0] == '[') {
      const std::size_t close = path.find(']');
      require(close != std::string_view::npos, Errc::kInvalid, "Missing ']' in format string");
      const std::string_view key = path.substr(1, close - 1);
      value = item_of(machine_, value, is_number(key) ? Value(std::stoi(std::string(key))) : Value(key));
      return path.substr(close + 1);
    }
    const std::size_t next = std::min(path.find('.', 1), path.find('[', 1));
    value = attribute_of(machine_, value, path.substr(1, next == std::string_view::npos ? next : next - 1));
    return next == std::string_view::npos ? std::string_view() : path.substr(next);
  }

  Value argument(std::string_view name) {
    if (name.empty() || is_number(name)) {
      (name.empty() ? counts_ : numbers_) = true;
      require(!counts_ || !numbers_, Errc::kInvalid, "cannot mix '{{}}' and '{{0}}' in one format");
      const std::size_t i = name.empty() ? next_++ : static_cast<std::size_t>(std::stoi(std::string(name)));
      require(i < arguments_.positional.size(), Errc::kInvalid,
              "Replacement index {} out of range for positional args tuple", i);
      return arguments_.positional[i];
    }
    for (const auto& [known, value] : arguments_.named)
      if (known == name) return value;
    fail(Errc::kInvalid, "the format lacks the argument '{}'", printable(name));
  }

  Machine& machine_;
  Arguments arguments_;
  std::size_t next_ = 0;
  bool counts_ = false, numbers_ = false;  // {} has been met, {0} has been met
};

}  // namespace

std::string brace_format(Machine& machine, const std::string& text, Arguments arguments) {
  return BraceFormatter(machine, std::move(arguments)).format(text, 0);
}

}  // namespace tessera::jinja
