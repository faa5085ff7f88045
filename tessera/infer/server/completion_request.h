// CompletionRequest: POST /v1/completions. Texts or ids to continue.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "tessera/infer/server/generation_options.h"

namespace tessera::server {

constexpr std::int64_t kCompletionTokens = 16;  // where max_tokens is absent

struct CompletionRequest {
  using Prompt = std::variant<std::string, std::vector<std::int32_t>>;

  GenerationOptions options{};
  std::vector<Prompt> prompts{};  // one at least
  bool echoes = false;            // the prompt stands before the text
  std::optional<int> logprobs{};  // of each token, with so many of the likeliest
};

CompletionRequest read_completion_request(const Json& body, const RequestDefaults& defaults);

}  // namespace tessera::server
