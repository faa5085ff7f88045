#include "tessera/text/jinja/text_operations.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {
namespace {

bool is_space_at(std::string_view text, std::size_t at) { return is_python_space(read_code_point(text, at).value); }

bool is_line_end(char32_t c) {
  return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

Values split_at_space(const std::string& text, std::size_t most) {
  Values parts;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && is_space_at(text, at)) at += read_code_point(text, at).bytes;
    if (at == text.size()) return parts;
    if (parts.size() == most) {
      parts.emplace_back(text.substr(at));
      return parts;
    }
    std::size_t end = at;
    while (end < text.size() && !is_space_at(text, end)) end += read_code_point(text, end).bytes;
    parts.emplace_back(text.substr(at, end - at));
    at = end;
  }
}

Values split_at_space_from_right(const std::string& text, std::size_t most) {
  Values parts;
  std::size_t end = text.size();
  while (true) {
    while (end > 0 && is_space_at(text, code_point_before(text, end))) end = code_point_before(text, end);
    if (end == 0) break;
    if (parts.size() == most) {
      parts.emplace_back(text.substr(0, end));
      break;
    }
    std::size_t begin = end;
    while (begin > 0 && !is_space_at(text, code_point_before(text, begin))) begin = code_point_before(text, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    end = begin;
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

std::string strip(std::string_view text, const std::optional<std::string>& characters, Side side) {
  const auto goes = [&](std::string_view c, char32_t value) {
    return characters ? characters->find(c) != std::string::npos : is_python_space(value);
  };
  while (side != Side::kRight && !text.empty()) {
    const CodePoint c = read_code_point(text, 0);
    if (!goes(text.substr(0, c.bytes), c.value)) break;
    text.remove_prefix(c.bytes);
  }
  while (side != Side::kLeft && !text.empty()) {
    const std::size_t last = code_point_before(text, text.size());
    if (!goes(text.substr(last), read_code_point(text, last).value)) break;
    text = text.substr(0, last);
  }
  return std::string(text);
}

Values split(const std::string& text, const std::optional<std::string>& separator, std::size_t most) {
  if (!separator) return split_at_space(text, most);
  require(!separator->empty(), Errc::kInvalid, "empty separator");
  Values parts;
  std::size_t done = 0;
  for (std::size_t at = text.find(*separator); at != std::string::npos && parts.size() < most;
       at = text.find(*separator, done)) {
    parts.emplace_back(text.substr(done, at - done));
    done = at + separator->size();
  }
  parts.emplace_back(text.substr(done));
  return parts;
}

Values split_from_right(const std::string& text, const std::optional<std::string>& separator, std::size_t most) {
  if (!separator) return split_at_space_from_right(text, most);
  require(!separator->empty(), Errc::kInvalid, "empty separator");
  Values parts;
  std::size_t end = text.size();
  while (parts.size() < most && end >= separator->size()) {
    const std::size_t at = text.rfind(*separator, end - separator->size());
    if (at == std::string::npos) break;
    parts.emplace_back(text.substr(at + separator->size(), end - at - separator->size()));
    end = at;
  }
  parts.emplace_back(text.substr(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Values split_lines(std::string_view text, bool keep_ends) {
  Values lines;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    const std::size_t end = at;
    at += c.bytes;
    if (!is_line_end(c.value)) continue;
    if (c.value == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.emplace_back(text.substr(done, (keep_ends ? at : end) - done));
    done = at;
  }
  if (done < text.size()) lines.emplace_back(text.substr(done));
  return lines;
}

std::string replace(Budget& budget, std::string_view text, std::string_view from, std::string_view to,
                    std::size_t most) {
  std::string out;
  std::size_t done = 0, count = 0;
  const auto add = [&](std::string_view piece) {
    budget.require_text(out.size() + piece.size());
    out += piece;
  };
  if (from.empty()) {  // before each character and at the end
    for (std::size_t at = 0; count < most && at <= text.size(); ++count) {
      add(to);
      if (at == text.size()) return out;
      const std::uint32_t bytes = read_code_point(text, at).bytes;
      add(text.substr(at, bytes));
      at += bytes;
      done = at;
    }
    add(text.substr(done));
    return out;
  }
  for (std::size_t at = text.find(from); at != std::string_view::npos && count < most; at = text.find(from, done)) {
    add(text.substr(done, at - done));
    add(to);
    done = at + from.size();
    ++count;
  }
  add(text.substr(done));
  return out;
}

std::string capitalize(std::string_view text) {
  if (text.empty()) return "";
  const CodePoint first = read_code_point(text, 0);
  return to_title(first.value) + to_lower(text.substr(first.bytes));
}

std::string title(std::string_view text) {
  std::string out;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    out += in_word ? to_lower(text.substr(at, c.bytes)) : to_title(c.value);
    in_word = is_cased(c.value);
    at += c.bytes;
  }
  return out;
}

std::string swap_case(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    const std::string_view one = text.substr(at, c.bytes);
    out += is_upper(c.value) ? to_lower(one) : is_lower(c.value) ? to_upper(one) : std::string(one);
    at += c.bytes;
  }
  return out;
}

std::string pad(Budget& budget, const std::string& text, std::size_t width, const std::string& fill, Side side) {
  const std::size_t length = count_code_points(text);
  if (length >= width) return text;
  const std::size_t missing = width - length;
  require(count_code_points(fill) == 1, Errc::kInvalid, "The fill character must be exactly one character long");
  budget.require_text(text.size() + missing * fill.size());
  std::size_t left = side == Side::kLeft ? 0 : missing;
  if (side == Side::kBoth) left = missing / 2 + (missing & width & 1);
  std::string out;
  for (std::size_t i = 0; i < left; ++i) out += fill;
  out += text;
  for (std::size_t i = left; i < missing; ++i) out += fill;
  return out;
}

}  // namespace tessera::jinja
