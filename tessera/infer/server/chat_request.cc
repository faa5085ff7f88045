#include "tessera/infer/server/chat_request.h"

#include <limits>

#include "tessera/base/utf8.h"
#include "tessera/infer/server/api_error.h"
#include "tessera/infer/server/request_body.h"

namespace tessera::server {
namespace {

constexpr std::size_t kMostMessages = 4096, kMostTools = 128;

// "developer" is the newer name of "system".
std::string read_role(RequestFields& fields) {
  const Json& role = fields.required("role");
  const std::string path = fields.path_of("role");
  if (!role.is_string()) refuse("invalid_type", path, "{} must be a string", path);
  const std::string& name = role.as_string();
  if (name == "developer") return "system";
  if (name == "system" || name == "user" || name == "assistant" || name == "tool") return name;
  refuse("invalid_value", path, "{} is '{}'; known: system, developer, user, assistant, tool", path, printable(name));
}

std::string read_parts(const JsonArray& parts, const std::string& path) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", path, i);
    if (!parts[i].is_object()) refuse("invalid_type", place, "{} must be an object", place);
    RequestFields part(parts[i], place + ".");
    const Json& type = part.required("type");
    if (!type.is_string()) refuse("invalid_type", part.path_of("type"), "{}.type must be a string", place);
    if (type.as_string() != "text")
      refuse("unsupported_value", part.path_of("type"), "{}.type is '{}'; this model reads text only", place,
             printable(type.as_string()));
    part.required("text");
    text += *part.text("text");
    part.refuse_rest();
  }
  return text;
}

// A string, text parts (joined), or null where `may_be_absent`.
Json read_content(RequestFields& fields, bool may_be_absent) {
  const std::string path = fields.path_of("content");
  const Json* content = may_be_absent ? fields.find("content") : &fields.required("content");
  if (content == nullptr) return nullptr;
  if (content->is_string()) return *content;
  if (!content->is_array()) refuse("invalid_type", path, "{} must be a string or a list of parts", path);
  return read_parts(content->as_array(), path);
}

Json read_call(const Json& given, const std::string& path) {
  if (!given.is_object()) refuse("invalid_type", path, "{} must be an object", path);
  RequestFields call(given, path + ".");
  const std::string type = call.text("type").value_or("function");
  if (type != "function")
    refuse("unsupported_value", call.path_of("type"), "{}.type is '{}'; known: function", path, printable(type));
  call.required("function");
  RequestFields function(*call.object("function"), call.path_of("function."));
  function.required("name");
  Json arguments = JsonObject{};
  const std::string text = function.text("arguments").value_or("");
  if (!text.empty()) {
    try {
      arguments = parse_body(text);
    } catch (const ApiError&) {
      refuse("invalid_value", function.path_of("arguments"), "{} is no JSON object", function.path_of("arguments"));
    }
  }
  Json out =
      JsonObject{{"type", "function"},
                 {"function", JsonObject{{"name", *function.text("name")}, {"arguments", std::move(arguments)}}}};
  if (const auto id = call.text("id")) out.set("id", *id);
  function.refuse_rest();
  call.refuse_rest();
  return out;
}

Json read_message(const Json& given, std::size_t index) {
  const std::string place = fmt::format("messages[{}]", index);
  if (!given.is_object()) refuse("invalid_type", place, "{} must be an object", place);
  RequestFields fields(given, place + ".");
  const std::string role = read_role(fields);
  Json message = JsonObject{{"role", role}};
  const Json* calls = role == "assistant" ? fields.find("tool_calls") : nullptr;
  const Json content = read_content(fields, role == "assistant");
  if (content.is_null() && calls == nullptr)
    refuse("missing_required_parameter", fields.path_of("content"), "{}.content is missing", place);
  message.set("content", content.is_null() ? Json("") : content);
  if (calls != nullptr) {
    const std::string path = fields.path_of("tool_calls");
    if (!calls->is_array()) refuse("invalid_type", path, "{} must be a list", path);
    Json& list = message.set("tool_calls", JsonArray{});
    for (std::size_t i = 0; i < calls->as_array().size(); ++i)
      list.push(read_call(calls->as_array()[i], fmt::format("{}[{}]", path, i)));
  }
  for (const std::string_view name : {"name", "tool_call_id", "reasoning_content"})
    if (const auto text = fields.text(name)) message.set(std::string(name), *text);
  if (role == "assistant") {
    fields.refuse_unless("refusal", "", "only the text of an answer is read");
    fields.refuse_unless("annotations", JsonArray{}, "only the text of an answer is read");
    fields.refuse_unless("audio", Json(), "this model reads text only");
    fields.refuse_unless("function_call", Json(), "tool_calls is its newer form");
  }
  fields.refuse_rest();
  return message;
}

Json read_messages(RequestFields& fields) {
  const Json& messages = fields.required("messages");
  if (!messages.is_array()) refuse("invalid_type", "messages", "messages must be a list");
  const JsonArray& list = messages.as_array();
  if (list.empty()) refuse("empty_array", "messages", "messages is empty");
  if (list.size() > kMostMessages)
    refuse("array_above_max_length", "messages", "messages has {} entries; at most {}", list.size(), kMostMessages);
  Json out = JsonArray{};
  for (std::size_t i = 0; i < list.size(); ++i) out.push(read_message(list[i], i));
  return out;
}

void check_tool(const Json& tool, const std::string& path) {
  if (!tool.is_object()) refuse("invalid_type", path, "{} must be an object", path);
  RequestFields fields(tool, path + ".");
  fields.required("type");
  if (const std::string type = *fields.text("type"); type != "function")
    refuse("unsupported_value", fields.path_of("type"), "{}.type is '{}'; known: function", path, printable(type));
  fields.required("function");
  RequestFields function(*fields.object("function"), fields.path_of("function."));
  function.required("name");
  if (function.text("name")->empty())
    refuse("invalid_value", function.path_of("name"), "{}.function.name is empty", path);
  function.text("description");
  function.object("parameters");
  if (function.boolean("strict").value_or(false))
    refuse("unsupported_value", function.path_of("strict"),
           "{}.function.strict is not offered here: what the model writes is not forced into a schema", path);
  function.refuse_rest();
  fields.refuse_rest();
}

Json read_tools(RequestFields& fields) {
  const Json* tools = fields.find("tools");
  const Json* choice = fields.find("tool_choice");
  fields.refuse_unless("parallel_tool_calls", true, "the model calls as many tools as it likes");
  if (tools != nullptr) {
    if (!tools->is_array()) refuse("invalid_type", "tools", "tools must be a list");
    if (tools->as_array().size() > kMostTools)
      refuse("array_above_max_length", "tools", "tools has {} entries; at most {}", tools->as_array().size(),
             kMostTools);
    for (std::size_t i = 0; i < tools->as_array().size(); ++i)
      check_tool(tools->as_array()[i], fmt::format("tools[{}]", i));
  }
  if (choice != nullptr && *choice != Json("auto") && *choice != Json("none"))
    refuse("unsupported_value", "tool_choice", "tool_choice can be auto or none: no call is forced from the model");
  const bool none = choice != nullptr && *choice == Json("none");
  return tools == nullptr || tools->as_array().empty() || none ? Json() : *tools;
}

void read_logprobs(RequestFields& fields, ChatRequest& request) {
  request.logprobs = fields.boolean("logprobs").value_or(false);
  const auto top = fields.whole("top_logprobs", {0, kMostTopLogprobs});
  if (top && !request.logprobs) refuse("invalid_value", "top_logprobs", "top_logprobs needs logprobs: true");
  request.top_logprobs = static_cast<int>(top.value_or(0));
}

void read_template_variables(RequestFields& fields, ChatRequest& request) {
  const Json* given = fields.object("chat_template_kwargs");
  if (given == nullptr) return;
  for (const auto& [name, value] : given->as_object()) {
    const std::string path = "chat_template_kwargs." + printable(name);
    if (name == "messages" || name == "tools" || name == "add_generation_prompt" || name == "continue_final_message")
      refuse("invalid_value", path, "{} is what the request itself says", path);
    request.template_variables.set(name, value);
  }
}

void refuse_others(RequestFields& fields) {
  if (const Json* format = fields.object("response_format"))
    if (*format != Json(JsonObject{{"type", "text"}}))
      refuse("unsupported_value", "response_format",
             "response_format can be {{\"type\": \"text\"}}: what the model writes is not forced into a schema");
  fields.refuse_unless("modalities", JsonArray{"text"}, "this model writes text only");
  fields.refuse_unless("audio", Json(), "this model writes text only");
  fields.refuse_unless("prediction", Json(), "nothing is predicted");
  fields.refuse_unless("functions", JsonArray{}, "tools is its newer form");
  fields.refuse_unless("function_call", "none", "tool_choice is its newer form");
  fields.refuse_unless("reasoning_effort", Json(), "chat_template_kwargs tells a template what it knows");
  fields.refuse_unless("verbosity", Json(), "chat_template_kwargs tells a template what it knows");
  fields.refuse_unless("web_search_options", Json(), "nothing is searched");
  fields.refuse_rest();
}

}  // namespace

ChatRequest read_chat_request(const Json& body, const RequestDefaults& defaults) {
  RequestFields fields(body);
  ChatRequest request{.options = read_generation_options(fields, defaults)};
  request.messages = read_messages(fields);
  request.tools = read_tools(fields);
  read_logprobs(fields, request);
  read_template_variables(fields, request);
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  const auto older = fields.whole("max_tokens", {1, kAny});
  request.options.max_tokens = fields.whole("max_completion_tokens", {1, kAny});
  if (!request.options.max_tokens) request.options.max_tokens = older;
  refuse_others(fields);
  return request;
}

Json conversation_of(const ChatRequest& request) {
  Json conversation = request.template_variables;
  conversation.set("messages", request.messages);
  if (!request.tools.is_null()) conversation.set("tools", request.tools);
  conversation.set("add_generation_prompt", true);
  return conversation;
}

}  // namespace tessera::server
