// ChatTemplate: the Jinja template with which a model's conversations become text.
//
//   const ChatTemplate chat = ChatTemplate::open("models/smollm2");
//   chat.render(parse_json(R"({"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt":
//   true})")).text;
//
// Law: the text is what jinja2 renders in the environment that transformers builds (sandboxed, trim_blocks,
// lstrip_blocks, loop controls, generation blocks, tojson without escapes): tests/conformance/text_templates_test.cc.
// Templates come from outside: TemplateLimits bounds what one may spend. docs/design/chat_templates.md.
#pragma once
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"

namespace tessera {

struct TemplateLimits {
  std::uint64_t steps = 20'000'000;                // of evaluation: about two seconds
  std::uint64_t bytes = std::uint64_t{512} << 20;  // of texts and lists that are made on the way
  std::uint64_t text = std::uint64_t{64} << 20;    // of the result, or of any one text
  int depth = 400;                                 // of calls, blocks and expressions within each other
};

struct TextSpan {
  std::size_t begin = 0, end = 0;  // bytes
  bool operator==(const TextSpan&) const = default;
};

struct RenderedTemplate {
  std::string text;
  std::vector<TextSpan> generated;  // what stands in {% generation %} blocks
};

class ChatTemplate final {
 public:
  // Throws kCorrupt, with the line, for text that is no template; kUnsupported for a tag, filter or test that is not
  // known. At most 4 MiB.
  static ChatTemplate parse(std::string_view source);
  // chat_template.jinja of a folder, or "chat_template" of its tokenizer_config.json: a text, or a list from which
  // `name` chooses. A path of a file is such a file. Throws kNotFound besides.
  static ChatTemplate open(const std::string& path, std::string_view name = "default");
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // variables: an object, "messages" among them. now: what strftime_now tells; local_time() for the clock.
  // Throws kInvalid, with the line, for what the template does not accept (the text of raise_exception) or cannot do
  // with these variables; kResource beyond the limits.
  RenderedTemplate render(const Json& variables, const std::tm& now, const TemplateLimits& limits = {}) const;

 private:
  struct Tree;
  explicit ChatTemplate(std::unique_ptr<Tree> tree);
  std::unique_ptr<Tree> tree_;
};

std::tm local_time();

}  // namespace tessera
