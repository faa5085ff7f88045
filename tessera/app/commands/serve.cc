#include "tessera/app/commands/serve.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <future>
#include <optional>

#include "tessera/app/language_files.h"
#include "tessera/app/language_run.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/output.h"
#include "tessera/infer/generate.h"
#include "tessera/infer/server/http_server.h"

namespace tessera::commands {
namespace {

constexpr double kCloseSeconds = 5;  // for the last bytes of answers to get out, after a signal
constexpr std::int64_t kSpareConnections = 64;

class Serve final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("MODEL", model_, "a model's folder");
    v.option("--host", host_, "ADDRESS", "where to listen; default: 127.0.0.1, this machine only");
    v.option("--port", port_, "N", "default: 8080; 0: a free one");
    v.option("--name", name_, "ID", "the model's id in requests; default: its folder's name");
    v.option("--api-key-file", key_file_, "FILE", "keys that are let in, one a line; default: everyone is");
    v.option("--max-concurrent", concurrent_, "N", "texts that are written at once; default: 8");
    v.option("--max-queue", queued_, "N", "texts that wait; default: 256");
    v.option("--max-body", body_, "BYTES", "of a request; default: 16777216");
    v.option("--max-answer", answer_, "N", "tokens of a chat answer where the request sets no limit; default: 1024");
    v.option("--grace", grace_, "SECONDS", "for running answers after a signal; default: 10");
    options_.visit(v);
  }

  app::Answer run(app::Session& session) override {
    const server::HttpOptions http = http_options();
    server::ApiKeys keys;
    if (!key_file_.empty()) keys = naming_file(key_file_, [&] { return server::ApiKeys::parse(read_file(key_file_)); });
    const Tokenizer tokenizer = app::open_tokenizer(model_, session);
    const std::optional<app::ChatFiles> chat = open_chat(session);
    const app::LanguageRun run = app::open_language(model_, options_, session, {});
    Batcher batcher(*run.engine, limits());
    const auto grace = static_cast<double>(number("--grace", grace_, 0, 10));
    server::Api api(batcher, served_model(session, run, tokenizer, chat), std::move(keys));
    std::promise<int> signal;
    const SignalHook hook([&](int number) { signal.set_value(number); }, grace + 2 * kCloseSeconds);
    server::HttpServer listener(api, http);
    std::fprintf(stderr, "tessera: %s listens at http://%s:%d\n", name().c_str(), http.host.c_str(), listener.port());
    const int number = signal.get_future().get();
    api.begin_shutdown();
    batcher.drain(grace);
    listener.stop(kCloseSeconds);
    const BatchStats stats = api.stats();
    return {.json = api.metrics().json(stats),
            .text = fmt::format("{} texts, {} tokens written\n", stats.requests, stats.generated_tokens),
            .status = 128 + number};
  }

 private:
  static std::int64_t number(std::string_view option, const std::string& text, std::int64_t lowest,
                             std::int64_t otherwise) {
    return text.empty() ? otherwise : app::parse_whole(option, text, lowest);
  }

  BatchLimits limits() const {
    return {.concurrent = number("--max-concurrent", concurrent_, 1, 8),
            .queued = number("--max-queue", queued_, 1, 256)};
  }

  server::HttpOptions http_options() const {
    server::HttpOptions options;
    if (!host_.empty()) options.host = host_;
    const std::int64_t port = number("--port", port_, 0, options.port);
    require(port <= 65535, Errc::kInvalid, "--port {}: at most 65535", port);
    options.port = static_cast<int>(port);
    options.body_bytes =
        static_cast<std::uint64_t>(number("--max-body", body_, 1, static_cast<std::int64_t>(options.body_bytes)));
    // Each request that runs or waits has a connection; the spare ones are told that the queue is full.
    options.connections = limits().concurrent + limits().queued + kSpareConnections;
    require(options.connections <= 4096, Errc::kInvalid, "--max-concurrent and --max-queue: {} together; at most {}",
            options.connections - kSpareConnections, 4096 - kSpareConnections);
    return options;
  }

  std::string name() const {
    if (!name_.empty()) return name_;
    std::filesystem::path path = std::filesystem::weakly_canonical(model_);
    if (!path.has_filename()) path = path.parent_path();
    return std::filesystem::is_directory(path) ? path.filename().string() : path.stem().string();
  }

  // A model without a template completes texts only.
  std::optional<app::ChatFiles> open_chat(app::Session& session) const {
    try {
      return app::open_chat(model_, session);
    } catch (const Error& e) {
      if (e.code() != Errc::kNotFound) throw;
      session.warn({.code = "chat_template",
                    .tensor = "",
                    .message = "the model has no chat template: /v1/chat/completions is refused"});
      return std::nullopt;
    }
  }

  server::ServedModel served_model(const app::Session& session, const app::LanguageRun& run, const Tokenizer& tokenizer,
                                   const std::optional<app::ChatFiles>& chat) const {
    const std::string folder = run.checkpoint->container().folder();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return {
        .defaults = {.model = name(), .vocabulary = run.engine->shape().vocabulary, .sampling = read_sampling(folder)},
        .tokenizer = &tokenizer,
        .chat = chat ? &chat->chat : nullptr,
        .special_tokens = chat ? chat->special_tokens : Json(),
        .end_ids = read_end_ids(folder, run.checkpoint->config().config),
        .answer_tokens = number("--max-answer", answer_, 1, 1024),
        .seed = session.seed,
        .created = std::chrono::duration_cast<std::chrono::seconds>(now).count()};
  }

  std::string model_, host_, port_, name_, key_file_, concurrent_, queued_, body_, answer_, grace_;
  app::LanguageOptions options_;
};

}  // namespace

std::unique_ptr<app::Command> make_serve() { return std::make_unique<Serve>(); }

}  // namespace tessera::commands
