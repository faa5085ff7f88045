#include "tessera/app/commands/render_template.h"

#include "tessera/app/language_files.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/text/conversation.h"

namespace tessera::commands {
namespace {

class RenderTemplate final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("MODEL", model_, "a model's folder, a .jinja or a .gguf file");
    v.required("--messages", messages_, "FILE.json",
               "a list of messages, or an object with messages, tools, documents, add_generation_prompt, "
               "continue_final_message and other variables of the template");
  }

  app::Answer run(app::Session& session) override {
    const app::ChatFiles files = app::open_chat(model_, session);
    const Json conversation = naming_file(messages_, [&] { return parse_json(read_file(messages_)); });
    app::Answer answer;
    try {
      const RenderedTemplate rendered =
          render_conversation(files.chat, conversation, files.special_tokens, local_time());
      answer.json.set("text", rendered.text);
      Json& spans = answer.json.set("generated", JsonArray{});  // bytes of text
      for (const TextSpan& span : rendered.generated)
        spans.push(JsonArray{std::uint64_t{span.begin}, std::uint64_t{span.end}});
      answer.text = rendered.text;
    } catch (Error& e) {
      e.add_note(fmt::format("rendering the conversation of {}", messages_));
      throw;
    }
    return answer;
  }

 private:
  std::string model_, messages_;
};

}  // namespace

std::unique_ptr<app::Command> make_render_template() { return std::make_unique<RenderTemplate>(); }

}  // namespace tessera::commands
