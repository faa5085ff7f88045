// ToolText: finds the calls of tools in what a model writes. Known are
//   <tool_call>{"name": "f", "arguments": {...}}</tool_call>                              Hermes, Qwen 2 and 3
//   <tool_call><function=f><parameter=x>1</parameter></function></tool_call>              Qwen 3 Coder, Qwen 3.5
//   {"name": "f", "parameters": {...}}, as the whole text                                 Llama 3
// A call is one only of a tool that was offered; everything else stays text. White space around calls is dropped.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"

namespace tessera::server {

struct ToolCall {
  std::string name;
  std::string arguments;  // an object as JSON
};

class ToolText final {
 public:
  explicit ToolText(Json tools);  // the list of a request; null: everything is text

  struct Part {
    std::string text;
    std::vector<ToolCall> calls;
  };
  Part push(std::string_view text);  // what is certain now
  Part finish();

 private:
  bool is_bare() const;
  void read_marked(Part& part);
  void give(std::string_view text, Part& part);
  std::optional<ToolCall> read_call(std::string_view text) const;
  std::optional<ToolCall> read_json(std::string_view text) const;
  std::optional<ToolCall> read_functions(std::string_view text) const;
  const Json* find_tool(std::string_view name) const;

  Json tools_;
  std::string held_, space_;  // space_: white space that is text only if text follows
  bool is_inside_ = false, has_given_ = false, has_called_ = false;
};

}  // namespace tessera::server
