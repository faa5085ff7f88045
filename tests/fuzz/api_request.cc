// Requests over HTTP, and what a model writes that may call tools. Laws: a body is a request within its bounds, or an
// error that a client can tell by its status; calls are found wherever the text is cut, and no text is lost.
#include "tessera/base/utf8.h"
#include "tessera/infer/server/api_error.h"
#include "tessera/infer/server/chat_request.h"
#include "tessera/infer/server/completion_request.h"
#include "tessera/infer/server/request_body.h"
#include "tessera/infer/server/tool_text.h"
#include "tests/fuzz/untrusted.h"

namespace {

using tessera::server::ApiError;
using tessera::server::ToolText;

const tessera::server::RequestDefaults& defaults() {
  static const tessera::server::RequestDefaults instance{.model = "m", .vocabulary = 100};
  return instance;
}

void check_options(const tessera::server::GenerationOptions& options) {
  TESSERA_ASSERT(options.n >= 1 && options.n <= tessera::server::kMostChoices);
  TESSERA_ASSERT(options.sampling.temperature >= 0 && options.sampling.temperature <= 2);
  TESSERA_ASSERT(std::ssize(options.stops) <= tessera::server::kMostStops);
  for (const auto& [id, bias] : options.logit_bias) TESSERA_ASSERT(id >= 0 && id < 100 && bias >= -100 && bias <= 100);
  const tessera::Sampler sampler(options.sampling);  // takes every value that the parsers let through
}

void check_error(const ApiError& error) {
  TESSERA_ASSERT(error.status() == 400 || error.status() == 404);
  TESSERA_ASSERT(!error.type().empty() && !error.message().empty() && tessera::is_utf8(error.message()));
  TESSERA_ASSERT(error.message().size() < 4096 && error.param().size() < 4096);
}

template <class Read>
void check_request(const Read& read) {
  try {
    check_options(read().options);
  } catch (const ApiError& e) {
    check_error(e);
  }
}

void check_body(std::string_view text) {
  tessera::Json body;
  try {
    body = tessera::server::parse_body(text);
  } catch (const ApiError& e) {
    return check_error(e);
  }
  check_request([&] { return tessera::server::read_completion_request(body, defaults()); });
  check_request([&] {
    auto request = tessera::server::read_chat_request(body, defaults());
    TESSERA_ASSERT(!tessera::server::conversation_of(request).find("messages")->as_array().empty());
    return request;
  });
}

ToolText::Part read_in_pieces(std::string_view text, std::size_t size) {
  const tessera::Json tools = tessera::parse_json(
      R"([{"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"type": "string"}}}}}])");
  ToolText reader(tools);
  ToolText::Part whole;
  const auto add = [&](ToolText::Part part) {
    whole.text += part.text;
    for (auto& call : part.calls) whole.calls.push_back(std::move(call));
  };
  for (std::size_t at = 0; at < text.size(); at += size) add(reader.push(text.substr(at, size)));
  add(reader.finish());
  return whole;
}

void check_tools(std::string_view text) {
  if (text.size() > 4096) return;  // a byte at a time looks at what is held again and again
  const ToolText::Part whole = read_in_pieces(text, text.size() + 1), pieces = read_in_pieces(text, 1);
  TESSERA_ASSERT(whole.text == pieces.text && whole.calls.size() == pieces.calls.size());
  for (std::size_t i = 0; i < whole.calls.size(); ++i)
    TESSERA_ASSERT(whole.calls[i].name == "f" && whole.calls[i].arguments == pieces.calls[i].arguments);
  if (whole.calls.empty()) TESSERA_ASSERT(whole.text == text);
}

void check(std::string_view text) {
  check_body(text);
  check_tools(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return tessera::fuzz::answer(data, size, check);
}
