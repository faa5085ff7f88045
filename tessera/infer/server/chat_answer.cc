#include <fmt/format.h>

#include "tessera/base/utf8.h"
#include "tessera/infer/server/answer.h"
#include "tessera/infer/server/tool_text.h"

namespace tessera::server {
namespace {

Json entry_of(const std::string& bytes, double logprob) {
  Json numbers = JsonArray{};
  for (const char c : bytes) numbers.push(std::int64_t{static_cast<unsigned char>(c)});
  return JsonObject{{"token", replace_invalid_utf8(bytes)}, {"logprob", logprob}, {"bytes", std::move(numbers)}};
}

Json entries_of(const std::vector<ToldToken>& tokens) {
  Json entries = JsonArray{};
  for (const ToldToken& token : tokens) {
    Json entry = entry_of(token.bytes, *token.logprob);
    Json& top = entry.set("top_logprobs", JsonArray{});
    for (const auto& [bytes, logprob] : token.top) top.push(entry_of(bytes, logprob));
    entries.push(std::move(entry));
  }
  return entries;
}

class ChatAnswer final : public Answer {
 public:
  ChatAnswer(AnswerHead head, const ChatRequest& request)
      : head_(std::move(head)), tells_(request.logprobs), includes_usage_(request.options.includes_usage) {
    for (std::int64_t i = 0; i < request.options.n; ++i) choices_.push_back(Choice{.tools = ToolText(request.tools)});
  }

  std::vector<Json> begin() override {
    std::vector<Json> chunks;
    for (std::size_t i = 0; i < choices_.size(); ++i)
      chunks.push_back(chunk(i, JsonObject{{"role", "assistant"}, {"content", ""}}, {}, nullptr));
    return chunks;
  }

  std::vector<Json> chunks(const TextEvent& event) override {
    Choice& choice = choices_[event.choice];
    std::vector<Json> chunks;
    const ToolText::Part part = read(event);
    std::vector<ToldToken> tokens = event.tokens;
    if (!part.text.empty() || (!tokens.empty() && part.calls.empty()))
      chunks.push_back(chunk(event.choice, JsonObject{{"content", part.text}}, std::exchange(tokens, {}), nullptr));
    for (const ToolCall& call : part.calls) {
      Json entry = call_of(call, event.choice, choice.calls.size());
      choice.calls.push_back(entry);
      entry.as_object().insert(entry.as_object().begin(),
                               {"index", static_cast<std::int64_t>(choice.calls.size()) - 1});
      chunks.push_back(chunk(event.choice, JsonObject{{"tool_calls", JsonArray{std::move(entry)}}},
                             std::exchange(tokens, {}), nullptr));
    }
    if (event.end) chunks.push_back(chunk(event.choice, JsonObject{}, {}, finish_reason(choice, *event.end)));
    return chunks;
  }

  Json usage_chunk() const override {
    Json chunk = frame("chat.completion.chunk");
    chunk.set("choices", JsonArray{});
    chunk.set("usage", usage_of(head_, completion_tokens_));
    return chunk;
  }

  void add(const TextEvent& event) override {
    Choice& choice = choices_[event.choice];
    const ToolText::Part part = read(event);
    choice.text += part.text;
    for (const ToolCall& call : part.calls) choice.calls.push_back(call_of(call, event.choice, choice.calls.size()));
    Json entries = entries_of(event.tokens);
    for (Json& entry : entries.as_array()) choice.entries.push(std::move(entry));
    if (event.end) choice.reason = finish_reason(choice, *event.end);
  }

  Json whole() const override {
    Json answer = frame("chat.completion");
    Json& choices = answer.set("choices", JsonArray{});
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const Choice& choice = choices_[i];
      Json message = JsonObject{{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
      if (!choice.calls.empty()) {
        if (choice.text.empty()) message.set("content", nullptr);
        message.set("tool_calls", choice.calls);
      }
      choices.push(JsonObject{{"index", static_cast<std::int64_t>(i)},
                              {"message", std::move(message)},
                              {"finish_reason", choice.reason},
                              {"logprobs", tells_ ? logprobs_of(choice.entries) : Json()}});
    }
    answer.set("usage", usage_of(head_, completion_tokens_));
    return answer;
  }

 private:
  struct Choice {
    ToolText tools;
    std::string text{}, reason{};
    JsonArray calls{};
    Json entries = JsonArray{};
  };

  ToolText::Part read(const TextEvent& event) {
    Choice& choice = choices_[event.choice];
    ToolText::Part part = choice.tools.push(event.text);
    if (!event.end) return part;
    completion_tokens_ += event.end->tokens;
    ToolText::Part rest = choice.tools.finish();
    part.text += rest.text;
    for (ToolCall& call : rest.calls) part.calls.push_back(std::move(call));
    return part;
  }
  // A text that was cut off may have lost a call: length says so.
  static std::string finish_reason(const Choice& choice, const TextEnd& end) {
    return end.reason == "stop" && !choice.calls.empty() ? "tool_calls" : end.reason;
  }
  Json call_of(const ToolCall& call, std::size_t choice, std::size_t number) const {
    return JsonObject{{"id", fmt::format("call_{}_{}_{}", head_.id.substr(head_.id.find('-') + 1), choice, number)},
                      {"type", "function"},
                      {"function", JsonObject{{"name", call.name}, {"arguments", call.arguments}}}};
  }
  static Json logprobs_of(Json entries) { return JsonObject{{"content", std::move(entries)}, {"refusal", nullptr}}; }
  Json frame(std::string_view object) const {
    return JsonObject{{"id", head_.id}, {"object", object}, {"created", head_.created}, {"model", head_.model}};
  }
  Json chunk(std::size_t index, Json delta, const std::vector<ToldToken>& tokens, Json reason) const {
    Json chunk = frame("chat.completion.chunk");
    chunk.set("choices",
              JsonArray{JsonObject{{"index", static_cast<std::int64_t>(index)},
                                   {"delta", std::move(delta)},
                                   {"finish_reason", std::move(reason)},
                                   {"logprobs", tokens.empty() ? Json() : logprobs_of(entries_of(tokens))}}});
    if (includes_usage_) chunk.set("usage", nullptr);
    return chunk;
  }

  AnswerHead head_;
  bool tells_, includes_usage_;
  std::vector<Choice> choices_;
  std::int64_t completion_tokens_ = 0;
};

}  // namespace

Json usage_of(const AnswerHead& head, std::int64_t completion_tokens) {
  return JsonObject{{"prompt_tokens", head.prompt_tokens},
                    {"completion_tokens", completion_tokens},
                    {"total_tokens", head.prompt_tokens + completion_tokens}};
}

std::unique_ptr<Answer> make_chat_answer(AnswerHead head, const ChatRequest& request) {
  return std::make_unique<ChatAnswer>(std::move(head), request);
}

}  // namespace tessera::server
