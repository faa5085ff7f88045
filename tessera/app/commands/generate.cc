#include "tessera/app/commands/generate.h"

#include "tessera/app/language_files.h"
#include "tessera/app/language_run.h"
#include "tessera/app/sampling_flags.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"

namespace tessera::commands {
namespace {

Json id_array(std::span<const std::int32_t> ids) {
  Json array = JsonArray{};
  for (const std::int32_t id : ids) array.push(std::int64_t{id});
  return array;
}

double rate(std::int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

class Generate final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("MODEL", model_, "a model's folder");
    v.list("--prompt", prompts_, "TEXT", "to continue");
    v.option("--prompt-file", prompt_file_, "FILE", "whose text to continue");
    v.option("--ids", ids_, "1,2,3", "token ids to continue");
    v.flag("--ignore-end", ignore_end_, "go on after a token that ends the text");
    v.flag("--logprobs", logprobs_, "with the logarithm of each token's probability");
    sampling_.visit(v);
    options_.visit(v);
  }

  app::Answer run(app::Session& session) override {
    const std::size_t given = prompts_.size() + (prompt_file_.empty() ? 0 : 1) + (ids_.empty() ? 0 : 1);
    require(given == 1, Errc::kInvalid, "generate: one --prompt, or one --prompt-file, or --ids");
    GenerateOptions generating = sampling_.options(session);
    std::optional<Tokenizer> tokenizer = open_tokenizer(session);
    const std::vector<std::int32_t> prompt = read_prompt(tokenizer);
    const auto room = static_cast<std::int64_t>(prompt.size()) + generating.max_tokens;
    app::LanguageRun run = app::open_language(model_, options_, session, {});
    require(room <= run.engine->cache().capacity() * KvPage::kTokens || options_.cache_tokens.empty(), Errc::kInvalid,
            "a prompt of {} tokens and {} more do not fit --cache-tokens {}", prompt.size(), generating.max_tokens,
            options_.cache_tokens);
    if (!ignore_end_)
      generating.end_ids = read_end_ids(run.checkpoint->container().folder(), run.checkpoint->config().config);
    Sequence sequence = run.engine->start();
    const bool streams = !session.json && tokenizer.has_value();
    const auto print = [](std::string_view piece) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    };
    const Generated made = tessera::generate(
        *run.engine, sequence, tokenizer ? &*tokenizer : nullptr, prompt, generating,
        streams ? std::function<void(std::string_view)>(print) : std::function<void(std::string_view)>());
    return answer(prompt, made, run.load_seconds, streams);
  }

 private:
  // Ids need no tokenizer: where there is none, ids come back.
  std::optional<Tokenizer> open_tokenizer(app::Session& session) const {
    try {
      return app::open_tokenizer(model_, session);
    } catch (const Error& e) {
      if (ids_.empty() || e.code() != Errc::kNotFound) throw;
      return std::nullopt;
    }
  }

  std::vector<std::int32_t> read_prompt(const std::optional<Tokenizer>& tokenizer) const {
    if (!ids_.empty()) return app::parse_ids("--ids", ids_);
    if (prompt_file_.empty()) return tokenizer->encode(prompts_[0], SpecialTokens::kWith).ids;
    return naming_file(prompt_file_,
                       [&] { return tokenizer->encode(read_file(prompt_file_), SpecialTokens::kWith).ids; });
  }

  app::Answer answer(std::span<const std::int32_t> prompt, const Generated& made, double load_seconds,
                     bool streamed) const {
    app::Answer answer;
    answer.json.set("text", made.text);
    answer.json.set("ids", id_array(made.ids));
    answer.json.set("prompt_ids", id_array(prompt));
    if (logprobs_) {
      Json logprobs = JsonArray{};
      for (const double p : made.logprobs) logprobs.push(p);
      answer.json.set("logprobs", std::move(logprobs));
    }
    answer.json.set("stop_reason", made.stop_reason);
    const auto read = static_cast<std::int64_t>(prompt.size()), written = static_cast<std::int64_t>(made.ids.size());
    answer.json.set(
        "usage", JsonObject{{"prompt_tokens", read}, {"completion_tokens", written}, {"total_tokens", read + written}});
    answer.json.set("timings", JsonObject{{"load_s", load_seconds},
                                          {"prompt_tokens_per_s", rate(read, made.prompt_seconds)},
                                          {"decode_tokens_per_s", rate(made.decoded, made.decode_seconds)}});
    answer.text = streamed ? "\n" : ids_line(made.ids);
    return answer;
  }

  static std::string ids_line(std::span<const std::int32_t> ids) {
    std::string line;
    for (const std::int32_t id : ids) line += fmt::format("{}{}", line.empty() ? "" : ",", id);
    return line + "\n";
  }

  std::string model_, prompt_file_, ids_;
  std::vector<std::string> prompts_;  // one at most
  bool ignore_end_ = false, logprobs_ = false;
  app::SamplingFlags sampling_;
  app::LanguageOptions options_;
};

}  // namespace

std::unique_ptr<app::Command> make_generate() { return std::make_unique<Generate>(); }

}  // namespace tessera::commands
