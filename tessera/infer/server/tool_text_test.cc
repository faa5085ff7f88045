#include "tessera/infer/server/tool_text.h"

#include <gtest/gtest.h>

namespace tessera::server {
namespace {

struct Read {
  std::string text;
  std::vector<std::pair<std::string, std::string>> calls;
  bool operator==(const Read&) const = default;
};
void PrintTo(const Read& r, std::ostream* out) {
  *out << "'" << r.text << "'";
  for (const auto& [name, arguments] : r.calls) *out << " " << name << arguments;
}

// Whole and a byte at a time, which must give the same.
Read read(std::string_view text) {
  const Json tools = parse_json(R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
    "properties": {"s": {"type": "string"}, "i": {"type": "integer"}}}}}])");
  const auto in_pieces = [&](std::size_t size) {
    ToolText reader(tools);
    Read out;
    const auto add = [&](const ToolText::Part& part) {
      out.text += part.text;
      for (const ToolCall& call : part.calls) out.calls.emplace_back(call.name, call.arguments);
    };
    for (std::size_t at = 0; at < text.size(); at += size) add(reader.push(text.substr(at, size)));
    add(reader.finish());
    return out;
  };
  const Read whole = in_pieces(text.size() + 1);
  EXPECT_EQ(in_pieces(1), whole) << text;
  return whole;
}

TEST(ToolText, FindsCallsInEachFamilysForm) {
  const Read one{"", {{"f", R"({"i":1})"}}};
  EXPECT_EQ(read("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"i\": 1}}\n</tool_call>\n"), one);
  EXPECT_EQ(read("<tool_call>{\"name\": \"f\", \"arguments\": {\"i\": 1}}"), one);  // the model ended before it closed
  EXPECT_EQ(read(" {\"name\": \"f\", \"parameters\": {\"i\": 1}}"), one);
  EXPECT_EQ(read("<tool_call>\n<function=f>\n<parameter=i>\n1\n</parameter>\n</function>\n</tool_call>"), one);
  EXPECT_EQ(read("<tool_call><function=f>\n<parameter=s>\n1\n</parameter></function></tool_call>"),
            (Read{"", {{"f", R"({"s":"1"})"}}}));
}

TEST(ToolText, KeepsTheTextAroundCalls) {
  const std::string call = R"(<tool_call>{"name": "f"}</tool_call>)";
  EXPECT_EQ(read("Let me see.\n\n" + call + "\n" + call), (Read{"Let me see.", {{"f", "{}"}, {"f", "{}"}}}));
  EXPECT_EQ(read("a " + call + " b "), (Read{"a b", {{"f", "{}"}}}));
}

TEST(ToolText, LeavesWhatIsNoCallAsItStands) {
  for (const char* text :
       {"", " plain \n", "<tool_cal", "<tool_call> no JSON </tool_call> x", "{\"name\": \"g\"} ", "{not JSON",
        "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>", "a {\"name\": \"f\"}",
        "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>", "1 < 2 <tool_call>"})
    EXPECT_EQ(read(text), (Read{text, {}}));
}

TEST(ToolText, IsTextWhereNothingIsOffered) {
  ToolText reader{Json()};
  const std::string text = R"(<tool_call>{"name": "f"}</tool_call>)";
  EXPECT_EQ(reader.push(text).text, text);
}

}  // namespace
}  // namespace tessera::server
