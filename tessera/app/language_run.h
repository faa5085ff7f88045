// What every command that runs a language model takes, and how it opens one.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tessera/app/command.h"
#include "tessera/infer/language_engine.h"

namespace tessera::app {

struct LanguageOptions {
  std::string compute = "bf16", cache, cache_tokens, batch_rows;
  void visit(OptionVisitor& v);
};

// A model that is open: its weights in memory. Must not outlive the session's stream.
struct LanguageRun {
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<LanguageEngine> engine;
  double load_seconds = 0;
};
struct LanguageOverrides {
  models::HiddenStates hidden = models::HiddenStates::kLast;
  std::int64_t cache_tokens = 0;  // at least; 0: as the options say
};
LanguageRun open_language(const std::string& model, const LanguageOptions& options, Session& session,
                          const LanguageOverrides& overrides = {});

// Numbers of the command line. `name`: of the option, for the error (kInvalid).
std::int64_t parse_whole(std::string_view name, const std::string& text, std::int64_t lowest);
double parse_number(std::string_view name, const std::string& text);
// "1,2, 3"
std::vector<std::int32_t> parse_ids(std::string_view name, std::string_view text);

}  // namespace tessera::app
