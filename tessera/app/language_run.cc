#include "tessera/app/language_run.h"

#include <charconv>
#include <chrono>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera::app {
namespace {

DType parse_activation_type(std::string_view option, const std::string& text) {
  if (text == "bf16") return DType::kBf16;
  if (text == "f32") return DType::kF32;
  fail(Errc::kInvalid, "{} {}: bf16 or f32", option, text);
}

DType parse_cache_type(const std::string& text) {
  if (text == "fp8") return DType::kF8E4M3;
  if (text == "bf16" || text == "f32") return parse_activation_type("--kv-cache", text);
  fail(Errc::kInvalid, "--kv-cache {}: bf16, f32 or fp8", text);
}

}  // namespace

void LanguageOptions::visit(OptionVisitor& v) {
  v.option("--compute", compute, "TYPE", "of activations between operations: bf16 or f32");
  v.option("--kv-cache", cache, "TYPE", "of keys and values: bf16, f32 or fp8; default: as --compute");
  v.option("--cache-tokens", cache_tokens, "N",
           "tokens that the cache holds; default: what the model reads, at most 8192");
  v.option("--batch-tokens", batch_rows, "N", "tokens that are computed at once; default: 256");
}

LanguageRun open_language(const std::string& model, const LanguageOptions& options, Session& session,
                          const LanguageOverrides& overrides) {
  EngineOptions engine{.compute = parse_activation_type("--compute", options.compute), .hidden = overrides.hidden};
  if (!options.cache.empty()) engine.cache = parse_cache_type(options.cache);
  if (!options.cache_tokens.empty()) engine.cache_tokens = parse_whole("--cache-tokens", options.cache_tokens, 1);
  engine.cache_tokens = std::max(engine.cache_tokens, overrides.cache_tokens);
  if (!options.batch_rows.empty()) engine.batch_rows = parse_whole("--batch-tokens", options.batch_rows, 1);
  engine.show_progress = !session.quiet;
  const auto start = std::chrono::steady_clock::now();
  LanguageRun run;
  run.stream = std::make_unique<Stream>(session.open_stream());
  require(run.stream->device().is_cpu(), Errc::kUnsupported, "language models run on the CPU; --device {} is not one",
          session.device);
  run.checkpoint = std::make_unique<Checkpoint>(Checkpoint::open(model, {.strict = session.strict}));
  for (const ContainerWarning& warning : run.checkpoint->warnings()) session.warn(warning);
  run.engine = std::make_unique<LanguageEngine>(*run.stream, *run.checkpoint, engine);
  run.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

std::int64_t parse_whole(std::string_view name, const std::string& text, std::int64_t lowest) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  require(read.ec == std::errc() && read.ptr == text.data() + text.size() && value >= lowest, Errc::kInvalid,
          "{} {}: a whole number of at least {} is expected", name, printable(text, 40), lowest);
  return value;
}

double parse_number(std::string_view name, const std::string& text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  require(read.ec == std::errc() && read.ptr == text.data() + text.size(), Errc::kInvalid,
          "{} {}: a number is expected", name, printable(text, 40));
  return value;
}

std::vector<std::int32_t> parse_ids(std::string_view name, std::string_view text) {
  std::vector<std::int32_t> ids;
  const auto is_between = [](char c) { return c == ',' || c == ' ' || c == '\n'; };
  while (true) {
    while (!text.empty() && is_between(text[0])) text.remove_prefix(1);
    if (text.empty()) return ids;
    std::int32_t id = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), id);
    const auto length = static_cast<std::size_t>(read.ptr - text.data());
    require(read.ec == std::errc() && id >= 0 && (length == text.size() || is_between(text[length])), Errc::kInvalid,
            "{} has '{}'; numbers with commas between are expected", name, printable(text, 40));
    ids.push_back(id);
    text.remove_prefix(length);
  }
}

}  // namespace tessera::app
