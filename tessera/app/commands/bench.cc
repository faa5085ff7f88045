#include "tessera/app/commands/bench.h"

#include <algorithm>
#include <chrono>

#include "tessera/app/language_run.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/infer/memory_bandwidth.h"
#include "tessera/numeric/philox.h"

namespace tessera::commands {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// What a token's decoding reads: every weight but the embedding's other rows, and the keys and values before it.
std::uint64_t weight_bytes_per_token(const LanguageEngine& engine) {
  std::uint64_t bytes = 0;
  for (const graph::Graph* g : {&engine.trunk(), &engine.head()})
    for (const graph::Node& node : g->nodes())
      if (node.op != nullptr && node.op->name != "embed")
        for (const graph::Value& v : node.inputs)
          if (g->node(v).param != nullptr) bytes += g->node(v).param->bytes();
  return bytes;
}

class Bench final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("MODEL", model_, "a model's folder");
    v.option("--prompt-tokens", prompt_tokens_, "N", "tokens of the prompt; default: 256");
    v.option("--decode-tokens", decode_tokens_, "N", "tokens to decode after it; default: 64");
    v.option("--repeat", repeat_, "N", "times; the fastest counts; default: 3");
    options_.visit(v);
  }

  app::Answer run(app::Session& session) override {
    const std::int64_t prompt = app::parse_whole("--prompt-tokens", prompt_tokens_, 1);
    const std::int64_t decode = app::parse_whole("--decode-tokens", decode_tokens_, 1);
    const std::int64_t repeat = app::parse_whole("--repeat", repeat_, 1);
    app::LanguageRun run = app::open_language(model_, options_, session, {.cache_tokens = prompt + decode});
    LanguageEngine& engine = *run.engine;
    require(prompt + decode <= engine.shape().longest, Errc::kInvalid, "{} tokens; the model reads at most {}",
            prompt + decode, engine.shape().longest);
    double prompt_seconds = 0, decode_seconds = 0, bandwidth = 0;
    for (std::int64_t i = 0; i < repeat; ++i) {
      bandwidth = std::max(bandwidth, measure_read_bandwidth(*run.stream, std::size_t{256} << 20, 3));
      Sequence sequence = engine.start();
      const auto least = [](double& best, double seconds) { best = best == 0 ? seconds : std::min(best, seconds); };
      Clock::time_point start = Clock::now();
      std::int32_t next = random_id(engine, 0);
      std::vector<std::int32_t> ids;
      for (std::int64_t t = 0; t < prompt; ++t) ids.push_back(random_id(engine, static_cast<std::uint64_t>(t)));
      const auto choose = [&](std::int64_t, std::span<const float> logits) {
        next = static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
      };
      engine.read(sequence, ids, Wanted::kLast, choose);
      least(prompt_seconds, seconds_since(start));
      start = Clock::now();
      for (std::int64_t t = 0; t < decode; ++t) {
        const std::int32_t id = next;
        engine.read(sequence, {&id, 1}, Wanted::kLast, choose);
      }
      least(decode_seconds, seconds_since(start));
    }
    return answer({prompt, decode, prompt_seconds, decode_seconds, bandwidth, run.load_seconds}, engine, *run.stream);
  }

 private:
  struct Measured {
    std::int64_t prompt, decode;
    double prompt_seconds, decode_seconds, bandwidth, load_seconds;
  };

  static std::int32_t random_id(const LanguageEngine& engine, std::uint64_t index) {
    return static_cast<std::int32_t>(random_word({.seed = 1, .stream = 1}, index) %
                                     static_cast<std::uint64_t>(engine.shape().vocabulary));
  }

  static app::Answer answer(const Measured& m, const LanguageEngine& engine, const Stream& stream) {
    const double prompt_rate = static_cast<double>(m.prompt) / m.prompt_seconds;
    const double decode_rate = static_cast<double>(m.decode) / m.decode_seconds;
    const std::uint64_t weights = weight_bytes_per_token(engine);
    const models::LanguageShape& s = engine.shape();
    const DType cache = engine.options().cache.value_or(engine.options().compute);
    const auto kv = static_cast<std::uint64_t>(2 * s.layers * s.kv_heads * s.head_width * dtype_bits(cache) / 8 *
                                               (m.prompt + m.decode / 2));
    const double fraction = decode_rate * static_cast<double>(weights + kv) / m.bandwidth;
    app::Answer answer;
    answer.json.set("prompt_tokens", m.prompt);
    answer.json.set("decode_tokens", m.decode);
    answer.json.set("load_s", m.load_seconds);
    answer.json.set("prompt_tokens_per_s", prompt_rate);
    answer.json.set("decode_tokens_per_s", decode_rate);
    answer.json.set("weight_bytes_per_token", weights);
    answer.json.set("cache_bytes_per_token", kv);
    answer.json.set("read_bandwidth", m.bandwidth);
    answer.json.set("fraction_of_bandwidth", fraction);
    answer.json.set("tier", cpu_tier_name(stream.cpu_tier()));
    answer.text = fmt::format(
        "prompt {} tokens: {:.1f} tokens/s\ndecode {} tokens: {:.2f} tokens/s, {:.2f} of what {}/s of reading allow\n"
        "a token reads {} of weights and {} of keys and values; CPU tier {}\n",
        m.prompt, prompt_rate, m.decode, decode_rate, fraction, format_bytes(m.bandwidth),
        format_bytes(static_cast<double>(weights)), format_bytes(static_cast<double>(kv)),
        cpu_tier_name(stream.cpu_tier()));
    return answer;
  }

  std::string model_, prompt_tokens_ = "256", decode_tokens_ = "64", repeat_ = "3";
  app::LanguageOptions options_;
};

}  // namespace

std::unique_ptr<app::Command> make_bench() { return std::make_unique<Bench>(); }

}  // namespace tessera::commands
