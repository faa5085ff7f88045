#include "tessera/app/commands/chat.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "tessera/app/language_files.h"
#include "tessera/app/language_run.h"
#include "tessera/app/sampling_flags.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/text/conversation.h"

namespace tessera::commands {
namespace {

// What has been read of a conversation, so that a turn reads only what is new.
class ReadText {
 public:
  explicit ReadText(LanguageEngine& engine) : sequence_(engine.start()) {}

  // Goes back to where `ids` begin to differ, and returns what is left to read; one id at least.
  std::span<const std::int32_t> rest_of(std::span<const std::int32_t> ids) {
    const auto read = std::min(static_cast<std::size_t>(sequence_.length()), ids_.size());
    std::size_t same = 0;
    while (same < read && same + 1 < ids.size() && ids_[same] == ids[same]) ++same;
    if (same < static_cast<std::size_t>(sequence_.length())) {
      same = same / KvPage::kTokens * KvPage::kTokens;
      sequence_ = sequence_.fork(static_cast<std::int64_t>(same));
    }
    ids_.assign(ids.begin(), ids.end());
    return ids.subspan(same);
  }
  void add(std::span<const std::int32_t> ids) { ids_.insert(ids_.end(), ids.begin(), ids.end()); }
  Sequence& sequence() { return sequence_; }

 private:
  Sequence sequence_;
  std::vector<std::int32_t> ids_;
};

class Chat final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("MODEL", model_, "a model's folder");
    v.option("--system", system_, "TEXT", "what the model is told first");
    v.option("--messages", messages_, "FILE.json", "a conversation to go on with");
    sampling_.visit(v);
    options_.visit(v);
  }

  app::Answer run(app::Session& session) override {
    const Tokenizer tokenizer = app::open_tokenizer(model_, session);
    const app::ChatFiles files = app::open_chat(model_, session);
    GenerateOptions generating = sampling_.options(session);
    app::LanguageRun run = app::open_language(model_, options_, session, {});
    generating.end_ids = read_end_ids(run.checkpoint->container().folder(), run.checkpoint->config().config);
    Json conversation = first_messages();
    ReadText text(*run.engine);
    std::string line;
    if (!session.quiet) std::cerr << "An empty line or Ctrl-D ends the conversation.\n";
    while (ask(line, session)) {
      conversation.push(JsonObject{{"role", "user"}, {"content", line}});
      const Json whole = JsonObject{{"messages", conversation}, {"add_generation_prompt", true}};
      const std::string prompt = render_conversation(files.chat, whole, files.special_tokens, local_time()).text;
      const std::vector<std::int32_t> ids = tokenizer.encode(prompt, SpecialTokens::kWithout).ids;
      const auto rest = text.rest_of(ids);
      const Generated made = tessera::generate(*run.engine, text.sequence(), &tokenizer, rest, generating,
                                               [&](std::string_view piece) { print(piece, session); });
      text.add(made.ids);
      print("\n", session);
      conversation.push(JsonObject{{"role", "assistant"}, {"content", made.text}});
    }
    app::Answer answer;
    answer.json.set("messages", std::move(conversation));
    return answer;
  }

 private:
  Json first_messages() const {
    Json messages = JsonArray{};
    if (!messages_.empty()) {
      const Json file = naming_file(messages_, [&] { return parse_json(read_file(messages_)); });
      messages = file.is_object() && file.find("messages") != nullptr ? *file.find("messages") : file;
      require(messages.is_array(), Errc::kInvalid, "{}: a list of messages is expected", messages_);
    }
    if (!system_.empty())
      messages.as_array().insert(messages.as_array().begin(),
                                 Json(JsonObject{{"role", "system"}, {"content", system_}}));
    return messages;
  }
  static bool ask(std::string& line, const app::Session& session) {
    if (!session.json && !session.quiet) std::cout << "> " << std::flush;
    return static_cast<bool>(std::getline(std::cin, line)) && !line.empty();
  }
  static void print(std::string_view piece, const app::Session& session) {
    if (!session.json) std::cout << piece << std::flush;
  }

  std::string model_, system_, messages_;
  app::SamplingFlags sampling_;
  app::LanguageOptions options_;
};

}  // namespace

std::unique_ptr<app::Command> make_chat() { return std::make_unique<Chat>(); }

}  // namespace tessera::commands
