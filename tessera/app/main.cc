// The `tessera` command: parses, runs one Command, prints its answer, and turns errors into exit statuses.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <map>
#include <new>

#include "tessera/app/command.h"
#include "tessera/base/error.h"
#include "tessera/base/log.h"
#include "tessera/base/output.h"

namespace tessera::app {
namespace {

constexpr int kUsage = 2;

class CliOptions final : public OptionVisitor {
 public:
  explicit CliOptions(CLI::App& app) : app_(app) {}
  void positional(std::string_view name, std::string& value, std::string_view help) override {
    app_.add_option(std::string(name), value, std::string(help))->required();
  }
  void flag(std::string_view name, bool& value, std::string_view help) override {
    app_.add_flag(std::string(name), value, std::string(help));
  }
  void option(std::string_view name, std::string& value, std::string_view shown, std::string_view help) override {
    app_.add_option(std::string(name), value, std::string(help))->option_text(std::string(shown));
  }
  void required(std::string_view name, std::string& value, std::string_view shown, std::string_view help) override {
    app_.add_option(std::string(name), value, std::string(help))->option_text(std::string(shown))->required();
  }
  void list(std::string_view name, std::vector<std::string>& values, std::string_view shown,
            std::string_view help) override {
    app_.add_option(std::string(name), values, std::string(help))
        ->option_text(std::string(shown))
        ->take_all()
        ->allow_extra_args(false);
  }

 private:
  CLI::App& app_;
};

void add_session_options(CLI::App& app, Session& session) {
  app.add_flag("--json", session.json, "one JSON document on standard output");
  app.add_flag("--quiet", session.quiet, "no progress, no log lines below errors");
  app.add_flag("--strict", session.strict, "a configuration that contradicts the tensors is an error");
  app.add_option("--log", session.log_level, "debug, info, warning, error or off")->option_text("LEVEL");
  app.add_option("--threads", session.threads, "threads; 0: one for each processor")
      ->option_text("N")
      ->check(CLI::Range(0, 1024));
  app.add_option("--device", session.device, "cpu, cuda or cuda:INDEX")->option_text("DEVICE");
  app.add_option("--cpu-tier", session.cpu_tier,
                 "the best instruction set to use: reference, avx2, avx512 or avx512_bf16")
      ->option_text("NAME");
  app.add_option("--seed", session.seed, "of everything random")->option_text("N")->check(CLI::NonNegativeNumber);
}

Json json_of(const std::vector<ContainerWarning>& warnings) {
  Json list = JsonArray{};
  for (const ContainerWarning& w : warnings) {
    Json& entry = list.as_array().emplace_back();
    entry.set("code", w.code);
    entry.set("tensor", w.tensor);
    entry.set("message", w.message);
  }
  return list;
}

int report_error(const Session& session, std::string_view code, int status, const std::string& message,
                 const Error* error) {
  if (session.json) {
    Json document;
    Json& e = document.set("error", JsonObject{});
    e.set("code", code);
    e.set("message", message);
    Json& notes = e.set("notes", JsonArray{});
    if (error != nullptr) {
      for (const std::string& note : error->notes()) notes.push("while " + note);
      if (!error->file().empty()) e.set("file", error->file());
      if (!error->tensor().empty()) e.set("tensor", error->tensor());
    }
    document.set("warnings", json_of(session.warnings));
    std::cout << document.dump(2) << "\n";
  } else {
    std::cerr << "tessera: " << (error != nullptr ? error->what() : message.c_str()) << "\n";
  }
  return status;
}

int print_answer(const Session& session, Answer answer) {
  if (session.json) {
    answer.json.set("warnings", json_of(session.warnings));
    std::cout << answer.json.dump(2) << "\n";
  } else {
    std::cout << answer.text;
  }
  std::cout.flush();
  return std::cout.good() ? answer.status : exit_status(Errc::kResource);
}

// A few of each kind: the layers of a model are wrong together.
void print_warnings(const std::vector<ContainerWarning>& warnings) {
  constexpr std::size_t kShown = 3;
  std::map<std::string, std::size_t> counts;
  for (const ContainerWarning& w : warnings)
    if (++counts[w.code] <= kShown) log_message(LogLevel::kWarning, "{}", w.message);
  for (const auto& [code, count] : counts)
    if (count > kShown)
      log_message(LogLevel::kWarning, "and {} more of the kind {} (--json lists all)", count - kShown, code);
}

int run_command(Command& command, Session& session) {
  try {
    if (!session.log_level.empty()) {
      const std::optional<LogLevel> level = find_log_level(session.log_level);
      require(level.has_value(), Errc::kInvalid, "no log level '{}'; there are: debug, info, warning, error, off",
              session.log_level);
      set_log_level(*level);
    } else if (session.quiet) {
      set_log_level(LogLevel::kError);
    }
    parse_device(session.device);  // also where the command does not compute: a wrong word is never silent
    if (!session.cpu_tier.empty()) parse_cpu_tier(session.cpu_tier);
    Answer answer = command.run(session);
    if (!session.json) print_warnings(session.warnings);
    return print_answer(session, std::move(answer));
  } catch (const Error& e) {
    return report_error(session, errc_name(e.code()), exit_status(e.code()), e.message(), &e);
  } catch (const std::bad_alloc&) {
    return report_error(session, errc_name(Errc::kResource), exit_status(Errc::kResource), "out of memory", nullptr);
  }
}

int run(int argc, char** argv) {
  CLI::App app("Exact tools for transformer checkpoints in 4- and 8-bit floats", "tessera");
  app.set_version_flag("--version", "tessera " TESSERA_VERSION);
  app.require_subcommand(1);
  Session session;
  std::vector<std::unique_ptr<Command>> commands;
  std::vector<CLI::App*> parsers;
  for (const CommandEntry* entry : all_commands()) {
    commands.push_back(entry->make());
    CLI::App* sub = app.add_subcommand(std::string(entry->name), std::string(entry->summary));
    CliOptions options(*sub);
    commands.back()->visit(options);
    add_session_options(*sub, session);
    parsers.push_back(sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    for (int i = 1; i < argc; ++i) session.json = session.json || std::string_view(argv[i]) == "--json";
    if (session.json && dynamic_cast<const CLI::CallForVersion*>(&e) != nullptr) {
      Answer answer;
      answer.json.set("version", TESSERA_VERSION);
      return print_answer(session, std::move(answer));
    }
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    return report_error(session, "usage", kUsage,
                        std::string(e.what()) + "; `tessera --help` and `tessera COMMAND --help` list what there is",
                        nullptr);
  }
  remove_outputs_on_signals();
  for (std::size_t i = 0; i < parsers.size(); ++i)
    if (parsers[i]->parsed()) return run_command(*commands[i], session);
  return kUsage;
}

}  // namespace
}  // namespace tessera::app

// What run() has no name for ends the command with a line and a status all the same: memory for its own options.
int main(int argc, char** argv) {
  try {
    return tessera::app::run(argc, argv);
  } catch (...) {
    std::fputs("tessera: out of memory, or the system failed in a way that the command has no name for\n", stderr);
    return tessera::exit_status(tessera::Errc::kResource);
  }
}
