#include "tessera/infer/server/chat_request.h"

#include <gtest/gtest.h>

#include "tessera/infer/server/api_error.h"
#include "tessera/infer/server/completion_request.h"
#include "tessera/infer/server/request_body.h"

namespace tessera::server {
namespace {

const RequestDefaults kDefaults{.model = "m", .vocabulary = 100, .sampling = {.temperature = 0.6, .top_k = 20}};

// The body with "model" and "messages" besides `members`, which may hold messages.
Json body_of(const std::string& members) {
  const bool has_messages = members.find("\"messages\"") != std::string::npos;
  return parse_body(R"({"model": "m")" +
                    std::string(has_messages ? "" : R"(, "messages": [{"role": "user", "content": "x"}])") +
                    (members.empty() ? "" : ", " + members) + "}");
}
ChatRequest read(const std::string& members) { return read_chat_request(body_of(members), kDefaults); }

struct Refusal {
  std::string code, param;
  bool operator==(const Refusal&) const = default;
};
void PrintTo(const Refusal& r, std::ostream* out) { *out << r.code << " " << r.param; }

template <class Read>
Refusal refusal_of(const Read& read) {
  try {
    read();
  } catch (const ApiError& e) {
    EXPECT_EQ(e.status(), 400);
    return {e.code(), e.param()};
  }
  return {};
}
Refusal refusal(const std::string& members) {
  return refusal_of([&] { read(members); });
}

TEST(ChatRequest, GetsTheModelsSamplingWhereItIsSilent) {
  const ChatRequest silent = read(R"("temperature": null, "n": null, "stop": null, "tools": null)");
  EXPECT_EQ(silent.options.sampling.temperature, 0.6);
  EXPECT_EQ(silent.options.sampling.top_k, 20);
  EXPECT_EQ(silent.options.n, 1);
  EXPECT_FALSE(silent.options.max_tokens || silent.options.seed);
  const ChatRequest told =
      read(R"("temperature": 0, "top_k": -1, "seed": -1, "max_tokens": 5, "max_completion_tokens": 6)");
  EXPECT_EQ(told.options.sampling.temperature, 0);
  EXPECT_EQ(told.options.sampling.top_k, 0);
  EXPECT_EQ(*told.options.seed, ~std::uint64_t{0});
  EXPECT_EQ(*told.options.max_tokens, 6);
}

TEST(ChatRequest, ReadsMessagesAsTemplatesDo) {
  const ChatRequest request = read(R"("messages": [
    {"role": "developer", "content": "a"}, {"role": "user", "name": "bob", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]},
    {"role": "assistant", "content": null, "refusal": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"x\": [1]}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "d"}])");
  EXPECT_EQ(request.messages, parse_json(R"([
    {"role": "system", "content": "a"}, {"role": "user", "content": "bc", "name": "bob"},
    {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"x": [1]}}, "id": "1"}]},
    {"role": "tool", "content": "d", "tool_call_id": "1"}])"));
}

TEST(ChatRequest, NamesWhatIsWrongByItsPlace) {
  const std::string call =
      R"("messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[1"}}]}])";
  EXPECT_EQ(refusal(call), (Refusal{"invalid_value", "messages[0].tool_calls[0].function.arguments"}));
  EXPECT_EQ(refusal(R"("messages": [{"role": "user"}])"),
            (Refusal{"missing_required_parameter", "messages[0].content"}));
  EXPECT_EQ(refusal(R"("messages": [{"role": "user", "content": "a", "mood": 1}])"),
            (Refusal{"unknown_parameter", "messages[0].mood"}));
  EXPECT_EQ(refusal(R"("messages": ["a"])"), (Refusal{"invalid_type", "messages[0]"}));
  EXPECT_EQ(refusal(R"("tools": [{"type": "function", "function": {}}])"),
            (Refusal{"missing_required_parameter", "tools[0].function.name"}));
  EXPECT_EQ(refusal(R"("stream": true, "stream_options": {"x": 1})"),
            (Refusal{"unknown_parameter", "stream_options.x"}));
  EXPECT_EQ(refusal(R"("chat_template_kwargs": {"tools": []})"),
            (Refusal{"invalid_value", "chat_template_kwargs.tools"}));
}

TEST(ChatRequest, RefusesByNameWhatIsNotOffered) {
  const std::vector<std::pair<std::string, std::string>> offers = {{"response_format", R"({"type": "json_object"})"},
                                                                   {"tool_choice", R"("required")"},
                                                                   {"parallel_tool_calls", "false"},
                                                                   {"functions", R"([{"name": "f"}])"},
                                                                   {"modalities", R"(["audio"])"},
                                                                   {"reasoning_effort", R"("low")"},
                                                                   {"store", "true"},
                                                                   {"web_search_options", "{}"}};
  for (const auto& [name, value] : offers)
    EXPECT_EQ(refusal("\"" + name + "\": " + value), (Refusal{"unsupported_value", name}));
  EXPECT_EQ(refusal(R"("temprature": 1)"), (Refusal{"unknown_parameter", "temprature"}));
  EXPECT_EQ(refusal(R"("user": "u", "metadata": {}, "store": false, "service_tier": "auto",
    "response_format": {"type": "text"}, "modalities": ["text"], "tool_choice": "auto", "parallel_tool_calls": true)"),
            Refusal{});
}

TEST(ChatRequest, HoldsValuesAgainstTheirRanges) {
  const std::vector<std::pair<std::string, std::string>> wrong = {{"n", "129"},
                                                                  {"n", "1.5"},
                                                                  {"n", "18446744073709551615"},
                                                                  {"top_k", "-2"},
                                                                  {"min_p", "1.1"},
                                                                  {"presence_penalty", "2.1"},
                                                                  {"repetition_penalty", "0"},
                                                                  {"max_tokens", "0"},
                                                                  {"max_completion_tokens", "-1"},
                                                                  {"stop", "[\"\"]"},
                                                                  {"stop", "1"},
                                                                  {"logit_bias", "[]"},
                                                                  {"logit_bias", R"({"1": 101})"},
                                                                  {"logit_bias", R"({"1x": 1})"},
                                                                  {"logit_bias", R"({"-1": 1})"},
                                                                  {"seed", "\"a\""},
                                                                  {"stream", "1"},
                                                                  {"ignore_eos", "0"}};
  for (const auto& [name, value] : wrong) EXPECT_EQ(refusal("\"" + name + "\": " + value).param, name) << value;
}

CompletionRequest complete(const std::string& members) {
  return read_completion_request(parse_body(R"({"model": "m", )" + members + "}"), kDefaults);
}
Refusal completion_refusal(const std::string& members) {
  return refusal_of([&] { complete(members); });
}

TEST(CompletionRequest, ReadsEveryFormOfPrompt) {
  EXPECT_EQ(complete(R"("prompt": "a")").prompts.size(), 1u);
  EXPECT_EQ(complete(R"("prompt": ["a", [1, 2], ""])").prompts.size(), 3u);
  EXPECT_EQ(std::get<1>(complete(R"("prompt": [0, 99])").prompts[0]), (std::vector<std::int32_t>{0, 99}));
  EXPECT_EQ(*complete(R"("prompt": "a")").options.max_tokens, 16);
  EXPECT_EQ(*complete(R"("prompt": "a", "echo": true, "max_tokens": 0)").options.max_tokens, 0);
}

TEST(CompletionRequest, RefusesOtherPromptsAndWhatIsNotOffered) {
  EXPECT_EQ(completion_refusal(R"("echo": true)"), (Refusal{"missing_required_parameter", "prompt"}));
  for (const char* prompt :
       {"1", "{}", "[]", "[[]]", "[true]", "[100]", "[-1]", "[1.5]", "[1, \"a\"]", "[18446744073709551615]"})
    EXPECT_EQ(completion_refusal(std::string(R"("prompt": )") + prompt).param, "prompt") << prompt;
  EXPECT_EQ(completion_refusal(R"("prompt": "a", "max_tokens": 0)").param, "max_tokens");
  EXPECT_EQ(completion_refusal(R"("prompt": "a", "best_of": 2)"), (Refusal{"unsupported_value", "best_of"}));
  EXPECT_EQ(completion_refusal(R"("prompt": "a", "best_of": 2, "n": 2)"), Refusal{});
  EXPECT_EQ(completion_refusal(R"("prompt": "a", "suffix": "b")"), (Refusal{"unsupported_value", "suffix"}));
  EXPECT_EQ(completion_refusal(R"("prompt": ["a", "b"], "n": 65)").param, "n");
  EXPECT_EQ(completion_refusal(R"("prompt": "a", "messages": [])"), (Refusal{"unknown_parameter", "messages"}));
}

}  // namespace
}  // namespace tessera::server
