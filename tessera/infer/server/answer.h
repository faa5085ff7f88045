// Answer: what a client is sent of the texts that its request asks for: whole, or in chunks as they come.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tessera/infer/server/chat_request.h"
#include "tessera/infer/server/completion_request.h"
#include "tessera/infer/server/text_event.h"

namespace tessera::server {

struct AnswerHead {
  std::string id, model;
  std::int64_t created = 0;  // seconds since 1970
  std::int64_t prompt_tokens = 0;
};

class Answer {
 public:
  virtual ~Answer() = default;
  virtual std::vector<Json> begin() { return {}; }               // chunks before any text
  virtual std::vector<Json> chunks(const TextEvent& event) = 0;  // what an event gives
  virtual Json usage_chunk() const = 0;                          // the last one, where it is asked for
  virtual void add(const TextEvent& event) = 0;                  // instead of chunks: gathers
  virtual Json whole() const = 0;
};

// A prompt of a completion, for what echo returns: its text, and its tokens with the characters before each.
struct PromptText {
  std::string text;
  std::vector<ToldToken> tokens;
};

std::unique_ptr<Answer> make_chat_answer(AnswerHead head, const ChatRequest& request);
// prompts: of each choice's prompt, in the order of the request.
std::unique_ptr<Answer> make_completion_answer(AnswerHead head, const CompletionRequest& request,
                                               std::vector<PromptText> prompts);

Json usage_of(const AnswerHead& head, std::int64_t completion_tokens);

}  // namespace tessera::server
