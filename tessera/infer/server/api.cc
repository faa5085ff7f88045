#include "tessera/infer/server/api.h"

#include <array>
#include <chrono>

#include "tessera/base/log.h"
#include "tessera/infer/server/characters.h"
#include "tessera/infer/server/request_body.h"
#include "tessera/numeric/philox.h"
#include "tessera/text/conversation.h"

namespace tessera::server {
namespace {

constexpr std::string_view kModels = "/v1/models", kCompletions = "/v1/completions", kChat = "/v1/chat/completions";
constexpr std::size_t kBytesPerToken = 256;  // more than a tokenizer's longest tokens have on average

// The streams of random numbers that a server draws from.
enum class Draw : std::uint64_t { kSeed = 1, kId = 2 };

std::uint64_t draw(std::uint64_t seed, Draw what, std::uint64_t number) {
  const RandomKey key{.seed = seed, .stream = static_cast<std::uint64_t>(what)};
  return std::uint64_t{random_word(key, 2 * number)} << 32 | random_word(key, 2 * number + 1);
}

std::string event_line(const Json& data) { return "data: " + data.dump() + "\n\n"; }

// The prompt's text and its tokens with the characters before each, for echo.
PromptText echo_of(const CompletionRequest::Prompt& prompt, const std::vector<std::int32_t>& ids,
                   const Encoding& encoding, const TokenText& tokens) {
  PromptText out;
  const auto* text = std::get_if<std::string>(&prompt);
  out.text = text != nullptr ? *text : tokens.tokenizer().decode(ids);
  DecodeStream stream(tokens.tokenizer(), SpecialTokens::kWith);
  std::int64_t characters = 0;
  std::size_t counted = 0;  // bytes of the text
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (text != nullptr) {
      // A token that a post-processor added stands at {0, 0}: it is where the text was left.
      const std::size_t begin = encoding.offsets[i].begin;
      if (begin > counted) {
        characters += count_characters(std::string_view(*text).substr(counted, begin - counted));
        counted = begin;
      }
    }
    out.tokens.push_back({.bytes = tokens.bytes(ids[i]), .offset = characters});
    if (text == nullptr) characters += count_characters(stream.push(ids[i]));
  }
  return out;
}

// One stream of a request: chunks while the text is written.
class ChunkStream final {
 public:
  ChunkStream(std::unique_ptr<Generation> generation, std::shared_ptr<Answer> answer, bool includes_usage)
      : generation_(std::move(generation)), answer_(std::move(answer)), includes_usage_(includes_usage) {}

  std::string next(const IsGone& is_gone) {
    std::string out;
    if (!std::exchange(has_begun_, true))
      for (const Json& chunk : answer_->begin()) out += event_line(chunk);
    while (out.empty() && !is_over_) {
      const std::optional<TextEvent> event = generation_->next(is_gone);
      if (!event) break;
      if (event->end && event->end->reason.empty()) {
        is_over_ = true;
        return event_line(ApiError(500, "server_error", "server_error", "", event->end->error).body());
      }
      for (const Json& chunk : answer_->chunks(*event)) out += event_line(chunk);
      if (!generation_->is_finished()) continue;
      if (includes_usage_) out += event_line(answer_->usage_chunk());
      out += "data: [DONE]\n\n";
      is_over_ = true;
    }
    return out;
  }

 private:
  std::unique_ptr<Generation> generation_;
  std::shared_ptr<Answer> answer_;
  bool includes_usage_, has_begun_ = false, is_over_ = false;
};

}  // namespace

Api::Api(Batcher& batcher, ServedModel model, ApiKeys keys)
    : batcher_(batcher),
      model_(std::move(model)),
      keys_(std::move(keys)),
      tokens_(*model_.tokenizer),
      ids_(static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())) {}

ApiReply Api::reply(const ApiError& error) {
  metrics_.count_status(error.status());
  ApiReply reply{.status = error.status(), .body = error.body().dump()};
  if (error.status() == 429 || error.status() == 503) reply.headers.emplace_back("Retry-After", "1");
  if (error.status() == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

ApiReply Api::json_reply(const Json& body) {
  metrics_.count_status(200);
  return {.body = body.dump()};
}

Json Api::model_json() const {
  return JsonObject{
      {"id", model_.defaults.model}, {"object", "model"}, {"created", model_.created}, {"owned_by", "local"}};
}

std::optional<ApiReply> Api::answer(const ApiRequest& request) {
  const std::string& path = request.path;
  const bool posts = path == kCompletions || path == kChat;
  const bool is_model = path.starts_with(fmt::format("{}/", kModels));
  const bool gets = path == "/health" || path == "/metrics" || path == kModels || is_model;
  if (path != "/health" && !keys_.admits(request.authorization)) return reply(wrong_key());
  if (!posts && !gets) return reply(unknown_route(request.method, path));
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (posts ? request.method != "POST" : !reads) {
    const std::string allowed = posts ? "POST" : "GET";
    ApiReply refusal = reply(wrong_method(allowed, path));
    refusal.headers.emplace_back("Allow", posts ? "POST" : "GET, HEAD");
    return refusal;
  }
  if (is_ending_ && path != "/metrics") return reply(shutting_down());
  if (posts) return std::nullopt;
  if (path == "/health") return json_reply(JsonObject{{"status", "ok"}});
  if (path == kModels) return json_reply(JsonObject{{"object", "list"}, {"data", JsonArray{model_json()}}});
  if (path == "/metrics") {
    metrics_.count_status(200);
    return ApiReply{.type = "text/plain; version=0.0.4", .body = metrics_.text(batcher_.stats())};
  }
  const std::string_view asked = std::string_view(path).substr(kModels.size() + 1);
  if (asked != model_.defaults.model) return reply(unknown_model(asked, model_.defaults.model));
  return json_reply(model_json());
}

ApiReply Api::answer(const ApiRequest& request, const std::string& body, const IsGone& is_gone) {
  try {
    const Json json = parse_body(body);
    return request.path == kChat ? chat(json, is_gone) : complete(json, is_gone);
  } catch (const ApiError& e) {
    return reply(e);
  }
}

std::uint64_t Api::next_seed() { return draw(model_.seed, Draw::kSeed, seeds_.fetch_add(1)); }

AnswerHead Api::head(std::string_view kind, std::int64_t prompt_tokens) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.id = fmt::format("{}-{:016x}", kind, draw(ids_, Draw::kId, answers_.fetch_add(1))),
          .model = model_.defaults.model,
          .created = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
          .prompt_tokens = prompt_tokens};
}

void Api::check_length(std::size_t prompt, std::int64_t tokens, std::string_view param) const {
  const std::int64_t context = batcher_.context(), length = static_cast<std::int64_t>(prompt);
  if (length > context || tokens > context - length)
    refuse("context_length_exceeded", param, "{} prompt tokens + {} new tokens exceed the context of {}", length,
           tokens, context);
}

BatchRequest Api::batch_request(const GenerationOptions& options, std::vector<std::int32_t> prompt, std::uint64_t seed,
                                std::uint64_t stream) const {
  BatchRequest request{.prompt = std::move(prompt),
                       .sampling = options.sampling,
                       .logit_bias = options.logit_bias,
                       .stream = stream,
                       .max_tokens = *options.max_tokens};
  request.sampling.seed = seed;
  if (!options.ignores_end) request.end_ids = model_.end_ids;
  return request;
}

ApiReply Api::complete(const Json& body, const IsGone& is_gone) {
  const CompletionRequest request = read_completion_request(body, model_.defaults);
  const GenerationOptions& options = request.options;
  const std::uint64_t seed = options.seed ? *options.seed : next_seed();
  std::vector<Generation::Text> texts;
  std::vector<PromptText> prompts;
  std::int64_t prompt_tokens = 0;
  for (const CompletionRequest::Prompt& prompt : request.prompts) {
    Encoding encoding;
    if (const auto* text = std::get_if<std::string>(&prompt)) {
      check_length(text->size() / kBytesPerToken, *options.max_tokens, "prompt");
      encoding = model_.tokenizer->encode(*text, SpecialTokens::kWith);
    } else {
      encoding.ids = std::get<std::vector<std::int32_t>>(prompt);
    }
    const std::vector<std::int32_t>& ids = encoding.ids;
    if (ids.empty()) refuse("invalid_value", "prompt", "prompt has no tokens");
    check_length(ids.size(), *options.max_tokens, "prompt");
    prompt_tokens += std::ssize(ids);
    prompts.push_back(request.echoes ? echo_of(prompt, ids, encoding, tokens_)
                                     : PromptText{.text = std::holds_alternative<std::string>(prompt)
                                                              ? std::get<std::string>(prompt)
                                                              : model_.tokenizer->decode(ids),
                                                  .tokens = {}});
    for (std::int64_t i = 0; i < options.n; ++i) {
      BatchRequest text = batch_request(options, ids, seed, texts.size());
      text.top_logprobs = request.logprobs.value_or(0);
      text.tells_prompt = request.echoes && (request.logprobs || *options.max_tokens == 0);
      texts.push_back({std::move(text),
                       {.choice = texts.size(), .stops = options.stops, .tells_tokens = request.logprobs.has_value()}});
    }
  }
  std::shared_ptr<Answer> answer = make_completion_answer(head("cmpl", prompt_tokens), request, std::move(prompts));
  return run(std::move(texts), std::move(answer), options, is_gone);
}

std::vector<std::int32_t> Api::prompt_of(const ChatRequest& request) const {
  if (model_.chat == nullptr)
    refuse("unsupported_value", "messages", "The model has no chat template; /v1/completions takes a prompt");
  RenderedTemplate rendered;
  try {
    rendered = render_conversation(*model_.chat, conversation_of(request), model_.special_tokens, local_time());
  } catch (const Error& e) {
    refuse("invalid_value", "messages", "The model's chat template refuses the messages: {}", e.message());
  }
  check_length(rendered.text.size() / kBytesPerToken, 1, "messages");
  std::vector<std::int32_t> ids = model_.tokenizer->encode(rendered.text, SpecialTokens::kWithout).ids;
  if (ids.empty()) refuse("invalid_value", "messages", "messages has no tokens");
  return ids;
}

ApiReply Api::chat(const Json& body, const IsGone& is_gone) {
  ChatRequest request = read_chat_request(body, model_.defaults);
  GenerationOptions& options = request.options;
  const std::vector<std::int32_t> prompt = prompt_of(request);
  check_length(prompt.size(), options.max_tokens.value_or(1), "messages");
  if (!options.max_tokens) options.max_tokens = std::min(model_.answer_tokens, batcher_.context() - std::ssize(prompt));
  const std::uint64_t seed = options.seed ? *options.seed : next_seed();
  std::vector<Generation::Text> texts;
  for (std::int64_t i = 0; i < options.n; ++i) {
    BatchRequest text = batch_request(options, prompt, seed, texts.size());
    text.top_logprobs = request.top_logprobs;
    texts.push_back(
        {std::move(text), {.choice = texts.size(), .stops = options.stops, .tells_tokens = request.logprobs}});
  }
  std::shared_ptr<Answer> answer = make_chat_answer(head("chatcmpl", std::ssize(prompt)), request);
  return run(std::move(texts), std::move(answer), options, is_gone);
}

ApiReply Api::run(std::vector<Generation::Text> texts, std::shared_ptr<Answer> answer, const GenerationOptions& options,
                  const IsGone& is_gone) {
  auto generation = std::make_unique<Generation>(batcher_, metrics_, tokens_, std::move(texts));
  if (options.streams) {
    metrics_.count_status(200);
    auto stream = std::make_shared<ChunkStream>(std::move(generation), std::move(answer), options.includes_usage);
    return {.type = "text/event-stream",
            .headers = {{"Cache-Control", "no-cache"}},
            .next = [stream](const IsGone& gone) { return stream->next(gone); }};
  }
  while (!generation->is_finished()) {
    const std::optional<TextEvent> event = generation->next(is_gone);
    if (!event) return {.status = 499};  // nobody reads it
    if (event->end && event->end->reason.empty()) throw is_ending_ ? shutting_down() : internal_error();
    answer->add(*event);
  }
  return json_reply(answer->whole());
}

}  // namespace tessera::server
