// Api: what each route of the server answers, apart from how bytes get there and back (http_server.h).
// Source: OpenAI's API; tests/data/text/openai/cases.json is the contract.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/infer/batcher.h"
#include "tessera/infer/server/answer.h"
#include "tessera/infer/server/api_error.h"
#include "tessera/infer/server/api_keys.h"
#include "tessera/infer/server/generation.h"
#include "tessera/text/chat_template.h"

namespace tessera::server {

struct ServedModel {
  RequestDefaults defaults{};  // the model's name is there
  const Tokenizer* tokenizer = nullptr;
  const ChatTemplate* chat = nullptr;  // null: the model has none
  Json special_tokens{};               // variables of the template
  std::vector<std::int32_t> end_ids{};
  std::int64_t answer_tokens = 1024;  // of a chat answer, where the request sets no limit
  std::uint64_t seed = 0;             // of what is sampled where the request has none
  std::int64_t created = 0;           // seconds since 1970
};

struct ApiRequest {
  std::string method, path, authorization;
};
using IsGone = std::function<bool()>;  // the client went away

struct ApiReply {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  // A stream: instead of a body, its next bytes; "" ends it.
  std::function<std::string(const IsGone&)> next{};
};

class Api final {
 public:
  Api(Batcher& batcher, ServedModel model, ApiKeys keys);

  // Answers from the request line and the key alone; none where a body is to be read first.
  std::optional<ApiReply> answer(const ApiRequest& request);
  // Waits for the end of the text, unless it is a stream.
  ApiReply answer(const ApiRequest& request, const std::string& body, const IsGone& is_gone);
  ApiReply reply(const ApiError& error);  // any error as it is sent

  void begin_shutdown() { is_ending_ = true; }
  const Metrics& metrics() const { return metrics_; }
  BatchStats stats() const { return batcher_.stats(); }

 private:
  ApiReply complete(const Json& body, const IsGone& is_gone);
  ApiReply chat(const Json& body, const IsGone& is_gone);
  std::vector<std::int32_t> prompt_of(const ChatRequest& request) const;
  ApiReply run(std::vector<Generation::Text> texts, std::shared_ptr<Answer> answer, const GenerationOptions& options,
               const IsGone& is_gone);
  BatchRequest batch_request(const GenerationOptions& options, std::vector<std::int32_t> prompt, std::uint64_t seed,
                             std::uint64_t stream) const;
  void check_length(std::size_t prompt, std::int64_t tokens, std::string_view param) const;
  AnswerHead head(std::string_view kind, std::int64_t prompt_tokens);
  std::uint64_t next_seed();
  ApiReply json_reply(const Json& body);
  Json model_json() const;

  Batcher& batcher_;
  ServedModel model_;
  ApiKeys keys_;
  TokenText tokens_;
  Metrics metrics_;
  std::atomic<bool> is_ending_{false};
  std::atomic<std::uint64_t> seeds_{0}, answers_{0};  // given out
  std::uint64_t ids_;                                 // tells this server's ids from another's
};

}  // namespace tessera::server
