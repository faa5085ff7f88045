// Conversation: messages, and what else a chat template is told, as the text that a model reads.
// Source: transformers' apply_chat_template.
#pragma once
#include <string>

#include "tessera/base/json.h"
#include "tessera/text/chat_template.h"

namespace tessera {

// The special tokens of a tokenizer_config.json as templates know them: bos_token, eos_token, ... An object.
Json special_token_variables(const Json& tokenizer_config);

// `conversation`: a list of messages, or an object that holds "messages" and any of "tools", "documents",
// "add_generation_prompt", "continue_final_message" and other variables of the template. tools and documents are none
// where it has none; `special_tokens` come before what it says itself.
// continue_final_message: the text ends with the last message, for the model to go on with.
// Throws kInvalid for what is no conversation, an empty one, and as ChatTemplate::render does.
RenderedTemplate render_conversation(const ChatTemplate& chat, const Json& conversation, const Json& special_tokens,
                                     const std::tm& now, const TemplateLimits& limits = {});

}  // namespace tessera
