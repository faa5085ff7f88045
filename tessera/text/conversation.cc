#include "tessera/text/conversation.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/text/unicode.h"

namespace tessera {
namespace {

// Marks the end of the message that goes on. White space at its end shows whether the template trims messages.
constexpr std::string_view kMark = "\xEE\x80\x80<continue here>\xEE\x80\x80 ";

std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    const std::size_t last = code_point_before(text, text.size());
    if (!is_python_space(read_code_point(text, last).value)) break;
    text = text.substr(0, last);
  }
  return text;
}

// Puts the mark behind the text of the last message.
void mark_last(Json& messages) {
  Json* content = messages.as_array().back().find("content");
  if (content != nullptr && content->is_array()) {
    JsonArray& parts = content->as_array();
    content = nullptr;
    for (Json& part : parts)
      if (Json* text = part.find("text"); text != nullptr && text->is_string()) content = text;
  }
  require(content != nullptr && content->is_string(), Errc::kInvalid,
          "continue_final_message: the last message has no text to go on with");
  *content = content->as_string() + std::string(kMark);
}

// Cuts the text at the mark.
void cut_at_mark(RenderedTemplate& rendered) {
  const std::size_t at = rendered.text.rfind(trimmed(kMark));
  require(at != std::string::npos, Errc::kInvalid,
          "continue_final_message: the template does not write the text of the last message");
  const bool keeps_space = rendered.text.compare(at, kMark.size(), kMark) == 0;
  rendered.text.resize(keeps_space ? at : trimmed(std::string_view(rendered.text).substr(0, at)).size());
  for (TextSpan& span : rendered.generated) span.end = std::min(span.end, rendered.text.size());
}

bool flag(const Json& conversation, std::string_view name) {
  const Json* value = conversation.find(name);
  if (value == nullptr || value->is_null()) return false;
  require(value->is_bool(), Errc::kInvalid, "\"{}\" is {}; true or false is expected", name, value->dump());
  return value->as_bool();
}

}  // namespace

Json special_token_variables(const Json& tokenizer_config) {
  constexpr std::array<std::string_view, 7> kNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                      "pad_token", "cls_token", "mask_token"};
  Json variables = JsonObject{};
  for (const std::string_view name : kNames) {
    const Json* token = tokenizer_config.find(name);
    if (token != nullptr && token->is_object()) token = token->find("content");
    if (token != nullptr && token->is_string()) variables.set(std::string(name), *token);
  }
  return variables;
}

RenderedTemplate render_conversation(const ChatTemplate& chat, const Json& conversation, const Json& special_tokens,
                                     const std::tm& now, const TemplateLimits& limits) {
  Json variables = special_tokens.is_object() ? special_tokens : Json(JsonObject{});
  variables.set("tools", nullptr);
  variables.set("documents", nullptr);
  if (conversation.is_object()) {
    for (const auto& [name, value] : conversation.as_object()) variables.set(name, value);
  } else {
    variables.set("messages", conversation);
  }
  Json* messages = variables.find("messages");
  require(messages != nullptr && messages->is_array(), Errc::kInvalid,
          "a conversation is a list of messages, or an object that holds it as \"messages\"");
  require(!messages->as_array().empty(), Errc::kInvalid, "the conversation has no messages");
  for (const Json& message : messages->as_array())
    require(message.is_object(), Errc::kInvalid, "a message is an object with a role and a content");
  const bool goes_on = flag(variables, "continue_final_message");
  if (!goes_on) return chat.render(variables, now, limits);
  require(!flag(variables, "add_generation_prompt"), Errc::kInvalid,
          "continue_final_message and add_generation_prompt exclude each other");
  mark_last(*messages);
  RenderedTemplate rendered = chat.render(variables, now, limits);
  cut_at_mark(rendered);
  return rendered;
}

}  // namespace tessera
