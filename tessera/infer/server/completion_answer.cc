#include "tessera/base/utf8.h"
#include "tessera/infer/server/answer.h"
#include "tessera/infer/server/characters.h"

namespace tessera::server {
namespace {

// The lists of a choice's "logprobs".
class TokenLists {
 public:
  explicit TokenLists(bool has_top) : has_top_(has_top) {}
  void add(const ToldToken& token, std::int64_t offset) {
    tokens_.push(replace_invalid_utf8(token.bytes));
    logprobs_.push(token.logprob ? Json(*token.logprob) : Json());
    offsets_.push(offset);
    Json top;
    if (token.logprob) {
      top = JsonObject{};
      for (const auto& [bytes, logprob] : token.top)
        if (const std::string text = replace_invalid_utf8(bytes); top.find(text) == nullptr) top.set(text, logprob);
    }
    top_.push(std::move(top));
  }
  Json json() const {
    return JsonObject{{"tokens", tokens_},
                      {"token_logprobs", logprobs_},
                      {"top_logprobs", has_top_ ? top_ : Json()},
                      {"text_offset", offsets_}};
  }

 private:
  bool has_top_;
  Json tokens_ = JsonArray{}, logprobs_ = JsonArray{}, top_ = JsonArray{}, offsets_ = JsonArray{};
};

class CompletionAnswer final : public Answer {
 public:
  CompletionAnswer(AnswerHead head, const CompletionRequest& request, std::vector<PromptText> prompts)
      : head_(std::move(head)),
        n_(static_cast<std::size_t>(request.options.n)),
        echoes_(request.echoes),
        logprobs_(request.logprobs),
        includes_usage_(request.options.includes_usage),
        prompts_(std::move(prompts)),
        choices_(n_ * prompts_.size(), Choice{.lists = lists()}) {
    for (const PromptText& prompt : prompts_) offsets_.push_back(count_characters(prompt.text));
  }

  std::vector<Json> chunks(const TextEvent& event) override {
    TokenLists lists = this->lists();
    const std::string text = read(event, lists);
    std::vector<Json> chunks;
    const bool has_tokens = logprobs_ && (!event.tokens.empty() || !event.prompt.empty());
    if (!text.empty() || has_tokens)
      chunks.push_back(chunk(event.choice, text, has_tokens ? lists.json() : Json(), nullptr));
    if (event.end) chunks.push_back(chunk(event.choice, "", nullptr, event.end->reason));
    return chunks;
  }

  Json usage_chunk() const override {
    Json chunk = frame();
    chunk.set("choices", JsonArray{});
    chunk.set("usage", usage_of(head_, completion_tokens_));
    return chunk;
  }

  void add(const TextEvent& event) override {
    Choice& choice = choices_[event.choice];
    choice.text += read(event, choice.lists);
    if (event.end) choice.reason = event.end->reason;
  }

  Json whole() const override {
    Json answer = frame();
    Json& choices = answer.set("choices", JsonArray{});
    for (std::size_t i = 0; i < choices_.size(); ++i)
      choices.push(JsonObject{{"index", static_cast<std::int64_t>(i)},
                              {"text", choices_[i].text},
                              {"finish_reason", choices_[i].reason},
                              {"logprobs", logprobs_ ? choices_[i].lists.json() : Json()}});
    answer.set("usage", usage_of(head_, completion_tokens_));
    return answer;
  }

 private:
  struct Choice {
    TokenLists lists;
    std::string text{}, reason{};
    bool has_begun = false;
  };

  TokenLists lists() const { return TokenLists(logprobs_.value_or(0) > 0); }

  // The text that an event adds; what it tells of tokens goes into `lists`.
  std::string read(const TextEvent& event, TokenLists& lists) {
    Choice& choice = choices_[event.choice];
    const std::size_t place = event.choice / n_;
    const PromptText& prompt = prompts_[place];
    std::string text;
    if (echoes_ && !std::exchange(choice.has_begun, true)) {
      text = prompt.text;
      for (std::size_t i = 0; i < prompt.tokens.size(); ++i) {
        ToldToken token = prompt.tokens[i];
        if (i > 0 && i - 1 < event.prompt.size()) {
          token.logprob = event.prompt[i - 1].logprob;
          token.top = event.prompt[i - 1].top;
        }
        lists.add(token, token.offset);
      }
    }
    for (const ToldToken& token : event.tokens) lists.add(token, offsets_[place] + token.offset);
    if (event.end) completion_tokens_ += event.end->tokens;
    return text + event.text;
  }
  Json frame() const {
    return JsonObject{
        {"id", head_.id}, {"object", "text_completion"}, {"created", head_.created}, {"model", head_.model}};
  }
  Json chunk(std::size_t index, const std::string& text, Json logprobs, Json reason) const {
    Json chunk = frame();
    chunk.set("choices", JsonArray{JsonObject{{"index", static_cast<std::int64_t>(index)},
                                              {"text", text},
                                              {"finish_reason", std::move(reason)},
                                              {"logprobs", std::move(logprobs)}}});
    if (includes_usage_) chunk.set("usage", nullptr);
    return chunk;
  }

  AnswerHead head_;
  std::size_t n_;
  bool echoes_;
  std::optional<int> logprobs_;
  bool includes_usage_;
  std::vector<PromptText> prompts_;
  std::vector<std::int64_t> offsets_;  // characters of each prompt
  std::vector<Choice> choices_;
  std::int64_t completion_tokens_ = 0;
};

}  // namespace

std::unique_ptr<Answer> make_completion_answer(AnswerHead head, const CompletionRequest& request,
                                               std::vector<PromptText> prompts) {
  return std::make_unique<CompletionAnswer>(std::move(head), request, std::move(prompts));
}

}  // namespace tessera::server
