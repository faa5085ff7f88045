// The tokenizer and the chat template of a model, wherever they are: in its folder, beside its .safetensors file or
// index, in its GGUF file, or a tokenizer.json or a .jinja file by itself.
#pragma once
#include <string>

#include "tessera/app/command.h"
#include "tessera/base/json.h"
#include "tessera/text/chat_template.h"
#include "tessera/text/tokenizer.h"

namespace tessera::app {

// Warnings go to the session. Throws kNotFound when there is none; as Tokenizer::parse.
Tokenizer open_tokenizer(const std::string& model, Session& session);

struct ChatFiles {
  ChatTemplate chat;
  Json special_tokens;  // variables of the template
};
// Throws kNotFound when there is none; as ChatTemplate::parse.
ChatFiles open_chat(const std::string& model, Session& session);

}  // namespace tessera::app
