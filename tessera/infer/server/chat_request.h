// ChatRequest: POST /v1/chat/completions. A conversation to answer.
#pragma once
#include <string>
#include <vector>

#include "tessera/infer/server/generation_options.h"

namespace tessera::server {

struct ChatRequest {
  GenerationOptions options{};
  // As a chat template reads them: roles system, user, assistant and tool; texts in one piece; the arguments of calls
  // as objects.
  Json messages = JsonArray{};
  Json tools{};                            // null: none
  Json template_variables = JsonObject{};  // besides, for the template
  bool logprobs = false;
  int top_logprobs = 0;
};

ChatRequest read_chat_request(const Json& body, const RequestDefaults& defaults);

// What the template is told: messages, tools, variables, and to begin an answer.
Json conversation_of(const ChatRequest& request);

}  // namespace tessera::server
