#include "tessera/infer/server/api.h"

#include <gtest/gtest.h>

#include "tessera/base/file.h"

namespace tessera::server {
namespace {

const std::string kData = TESSERA_TEST_DATA;
const std::string kModel = "smollm2-135m-instruct";

// A model of 128 tokens behind SmolLM2's tokenizer: texts have ids that it does not know, lists of ids below 128 run.
class ApiTest : public ::testing::Test {
 protected:
  ServedModel served() const {
    return {.defaults = {.model = kModel, .vocabulary = 49152}, .tokenizer = &tokenizer_, .chat = &chat_};
  }
  static bool stay() { return false; }
  static Json post(Api& api, const std::string& path, const std::string& body, int status) {
    const ApiRequest request{.method = "POST", .path = path, .authorization = "Bearer test"};
    std::optional<ApiReply> reply = api.answer(request);
    if (!reply) reply = api.answer(request, body, stay);
    EXPECT_EQ(reply->status, status) << reply->body;
    return parse_json(reply->body);
  }

  Tokenizer tokenizer_ = Tokenizer::open(kData + "/gguf_import/smollm2");
  ChatTemplate chat_ = ChatTemplate::open(kData + "/gguf_import/smollm2");
  Checkpoint checkpoint_ = Checkpoint::open(kData + "/checkpoints/bf16/llama");
  Stream stream_{kCpu, 1};
  LanguageEngine engine_{stream_, checkpoint_, {.cache_tokens = 512}};
  Batcher batcher_{engine_, {.concurrent = 2, .queued = 4}};
};

std::string body_of(const Json& request) {
  if (const Json* text = request.find("body_text")) return text->as_string();
  if (const Json* repeat = request.find("body_repeat")) {
    std::string body;
    for (std::int64_t i = 0; i < repeat->as_array()[1].as_int64(); ++i) body += repeat->as_array()[0].as_string();
    return body;
  }
  std::string body;
  if (const Json* hex = request.find("body_hex"))
    for (std::size_t i = 0; i < hex->as_string().size(); i += 2)
      body += static_cast<char>(std::stoi(hex->as_string().substr(i, 2), nullptr, 16));
  else if (const Json* json = request.find("body"); json != nullptr && !json->is_null())
    body = json->dump();
  return body;
}

// What needs a server of its own is in tests/e2e/serve_test.py.
TEST_F(ApiTest, RefusesWhatTheContractRefuses) {
  Api api(batcher_, served(), {});
  Api closed(batcher_, served(), ApiKeys::parse("secret"));
  const std::vector<std::string> elsewhere = {"error_busy", "error_large_body", "error_shutdown", "error_internal"};
  int refused = 0;
  const Json cases = parse_json(read_file(kData + "/text/openai/cases.json"));
  for (const Json& entry : cases.as_array()) {
    const std::string name = entry.string_or("name", "");
    const std::int64_t status = entry.find("status")->as_int64();
    if (status == 200 || std::find(elsewhere.begin(), elsewhere.end(), name) != elsewhere.end()) continue;
    SCOPED_TRACE(name);
    const Json& request = *entry.find("request");
    const ApiRequest asked{.method = request.string_or("method", ""),
                           .path = request.string_or("path", ""),
                           .authorization = "Bearer test"};
    Api& asked_of = name == "error_key" ? closed : api;
    std::optional<ApiReply> reply = asked_of.answer(asked);
    if (!reply) reply = asked_of.answer(asked, body_of(request), stay);
    EXPECT_EQ(reply->status, status);
    const Json body = parse_json(reply->body);
    const Json &found = *body.find("error"), &expected = *entry.find("response", "json", "error");
    for (const char* field : {"type", "param", "code"}) EXPECT_EQ(*found.find(field), *expected.find(field)) << field;
    EXPECT_FALSE(found.string_or("message", "").empty());
    ++refused;
  }
  EXPECT_EQ(refused, 26);
}

TEST_F(ApiTest, WritesTheTextsOfEveryPromptInOrder) {
  Api api(batcher_, served(), {});
  const std::string body =
      R"({"model": "smollm2-135m-instruct", "prompt": [[1, 2], [3]], "n": 2, "max_tokens": 3, "logit_bias": {"70": 100}})";
  const Json answer = post(api, "/v1/completions", body, 200);
  const std::string text = tokenizer_.decode(std::vector<std::int32_t>{70, 70, 70});
  ASSERT_EQ(answer.find("choices")->as_array().size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const Json& choice = answer.find("choices")->as_array()[i];
    EXPECT_EQ(choice.find("index")->as_int64(), static_cast<std::int64_t>(i));
    EXPECT_EQ(choice.string_or("text", ""), text);
    EXPECT_EQ(choice.string_or("finish_reason", ""), "length");
  }
  EXPECT_EQ(*answer.find("usage"),
            Json(JsonObject{{"prompt_tokens", 3}, {"completion_tokens", 12}, {"total_tokens", 15}}));
}

TEST_F(ApiTest, TakesNothingOfARequestThatDoesNotFitTheQueue) {
  Api api(batcher_, served(), {});
  const std::string body = R"({"model": "smollm2-135m-instruct", "prompt": [[1]], "n": 100, "max_tokens": 400})";
  EXPECT_EQ(post(api, "/v1/completions", body, 429).find("error")->string_or("code", ""), "queue_full");
  batcher_.drain(10);
  EXPECT_EQ(post(api, "/v1/completions", R"({"model": "smollm2-135m-instruct", "prompt": [[1]]})", 503)
                .find("error")
                ->string_or("code", ""),
            "shutting_down");
}

TEST_F(ApiTest, KnowsNoRequestOnceItEnds) {
  Api api(batcher_, served(), {});
  api.begin_shutdown();
  EXPECT_EQ(post(api, "/v1/chat/completions", "{}", 503).find("error")->string_or("code", ""), "shutting_down");
  EXPECT_EQ(api.answer({.method = "GET", .path = "/health", .authorization = ""})->status, 503);
  EXPECT_EQ(api.answer({.method = "GET", .path = "/metrics", .authorization = ""})->status, 200);
}

}  // namespace
}  // namespace tessera::server
