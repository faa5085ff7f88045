// Chat templates. Law: within its limits a template renders UTF-8, and its generated spans lie within the text.
#include "tessera/text/chat_template.h"

#include "tessera/base/utf8.h"
#include "tests/fuzz/untrusted.h"

namespace {

constexpr tessera::TemplateLimits kLimits{.steps = 100'000, .bytes = 16u << 20, .text = 1u << 20, .depth = 200};

constexpr std::string_view kVariables = R"({"messages": [
  {"role": "system", "content": "Be <terse>."},
  {"role": "user", "content": [{"type": "text", "text": "Z\u00fcrich \ud83d\ude00"}, {"type": "image"}]},
  {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5, true]}}}]}],
  "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
  "bos_token": "<s>", "add_generation_prompt": true})";

void check(std::string_view source) {
  const tessera::ChatTemplate chat = tessera::ChatTemplate::parse(source);
  const tessera::RenderedTemplate rendered = chat.render(tessera::parse_json(kVariables), std::tm{}, kLimits);
  TESSERA_ASSERT(tessera::is_utf8(rendered.text) && rendered.text.size() <= kLimits.text);
  for (const tessera::TextSpan& span : rendered.generated) TESSERA_ASSERT(span.begin <= span.end);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return tessera::fuzz::answer(data, size, check);
}
