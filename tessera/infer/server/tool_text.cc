#include "tessera/infer/server/tool_text.h"

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"

namespace tessera::server {
namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
constexpr std::string_view kSpace = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

// Bytes at the end of `text` with which `marker` may begin.
std::size_t beginning_of(std::string_view marker, std::string_view text) {
  std::size_t n = std::min(marker.size() - 1, text.size());
  while (n > 0 && text.substr(text.size() - n) != marker.substr(0, n)) --n;
  return n;
}

// The text between `open` and `close` behind `at`, which moves behind it.
std::optional<std::string_view> between(std::string_view text, std::size_t& at, std::string_view open,
                                        std::string_view close) {
  const std::size_t begin = text.find(open, at);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find(close, begin + open.size());
  if (end == std::string_view::npos) return std::nullopt;
  at = end + close.size();
  return text.substr(begin + open.size(), end - begin - open.size());
}

// A parameter as its schema wants it: a string stays as it stands, anything else is JSON where it can be.
Json read_value(std::string_view text, const Json* schema) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (schema != nullptr && schema->string_or("type", "") == "string") return text;
  try {
    return parse_json(text);
  } catch (const Error&) {  // a text that is no JSON: the tool says what it thinks of it
    return text;
  }
}

}  // namespace

ToolText::ToolText(Json tools) : tools_(std::move(tools)) {}

bool ToolText::is_bare() const { return !has_given_ && !has_called_ && trimmed(held_).starts_with('{'); }

ToolText::Part ToolText::push(std::string_view text) {
  if (tools_.is_null()) return {std::string(text), {}};
  Part part;
  held_ += text;
  if (is_inside_ || !is_bare()) read_marked(part);
  return part;
}

void ToolText::read_marked(Part& part) {
  while (true) {
    if (!is_inside_) {
      const std::size_t open = held_.find(kOpen);
      const bool found = open != std::string::npos;
      const std::size_t end = found ? open : held_.size() - beginning_of(kOpen, held_);
      give(held_.substr(0, end), part);
      held_.erase(0, found ? open + kOpen.size() : end);
      if (!found) return;
      is_inside_ = true;
    }
    const std::size_t close = held_.find(kClose);
    if (close == std::string::npos) return;
    const std::string inner = held_.substr(0, close);
    if (auto call = read_call(inner)) {
      part.calls.push_back(std::move(*call));
      has_called_ = true;
      space_.clear();
    } else {
      give(std::string(kOpen) + inner + std::string(kClose), part);
    }
    held_.erase(0, close + kClose.size());
    is_inside_ = false;
  }
}

void ToolText::give(std::string_view text, Part& part) {
  const std::size_t last = text.find_last_not_of(kSpace);
  if (last == std::string_view::npos) {
    space_ += text;
    return;
  }
  part.text += std::exchange(space_, std::string(text.substr(last + 1)));
  part.text += text.substr(0, last + 1);
  has_given_ = true;
}

ToolText::Part ToolText::finish() {
  Part part;
  const std::string rest = (is_inside_ ? std::string(kOpen) : "") + held_;
  std::optional<ToolCall> call;
  if (is_inside_) {
    call = read_call(held_);
  } else if (is_bare()) {
    call = read_json(held_);
  }
  if (call) {
    part.calls.push_back(std::move(*call));
    has_called_ = true;
  } else if (!rest.empty()) {
    give(rest, part);
  }
  if (!has_called_) part.text += space_;
  held_.clear();
  space_.clear();
  is_inside_ = false;
  return part;
}

const Json* ToolText::find_tool(std::string_view name) const {
  for (const Json& tool : tools_.as_array())
    if (const Json* function = tool.find("function"); function != nullptr && function->string_or("name", "") == name)
      return function;
  return nullptr;
}

std::optional<ToolCall> ToolText::read_call(std::string_view text) const {
  return trimmed(text).starts_with("<function=") ? read_functions(text) : read_json(text);
}

std::optional<ToolCall> ToolText::read_json(std::string_view text) const {
  Json call;
  try {
    call = parse_json(text);
  } catch (const Error&) {  // a model may write anything: it is text then
    return std::nullopt;
  }
  const std::string name = call.string_or("name", "");
  if (find_tool(name) == nullptr) return std::nullopt;
  const Json* arguments = call.find("arguments");
  if (arguments == nullptr) arguments = call.find("parameters");
  if (arguments == nullptr || arguments->is_null()) return ToolCall{name, "{}"};
  if (arguments->is_string()) return ToolCall{name, arguments->as_string()};
  if (!arguments->is_object()) return std::nullopt;
  return ToolCall{name, arguments->dump()};
}

std::optional<ToolCall> ToolText::read_functions(std::string_view text) const {
  std::size_t at = 0;
  const auto name = between(text, at, "<function=", ">");
  const Json* tool = name ? find_tool(trimmed(*name)) : nullptr;
  if (tool == nullptr) return std::nullopt;
  Json arguments = JsonObject{};
  while (const auto parameter = between(text, at, "<parameter=", "</parameter>")) {
    const std::size_t end = parameter->find('>');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view key = trimmed(parameter->substr(0, end));
    arguments.set(std::string(key),
                  read_value(parameter->substr(end + 1), tool->find("parameters", "properties", key)));
  }
  return ToolCall{std::string(trimmed(*name)), arguments.dump()};
}

}  // namespace tessera::server
