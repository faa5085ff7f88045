#include "tessera/infer/generate.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/infer/log_probability.h"
#include "tessera/infer/stop_text.h"
#include "tessera/text/decode_stream.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Gives pieces of text on: to the result, and to who listens.
class TextOut {
 public:
  TextOut(const Tokenizer* tokenizer, const GenerateOptions& options, std::string& text,
          const std::function<void(std::string_view)>& on_text)
      : stop_(options.stops), text_(text), on_text_(on_text) {
    if (tokenizer != nullptr) stream_.emplace(*tokenizer);
  }
  void push(std::int32_t id) {
    if (stream_) give(stop_.push(stream_->push(id)));
  }
  void finish() {
    if (!stream_) return;
    if (!stop_.is_stopped()) give(stop_.push(stream_->finish()));
    give(stop_.finish());
  }
  bool is_stopped() const { return stop_.is_stopped(); }

 private:
  void give(const std::string& piece) {
    text_ += piece;
    if (on_text_ && !piece.empty()) on_text_(piece);
  }
  std::optional<DecodeStream> stream_;
  StopText stop_;
  std::string& text_;
  const std::function<void(std::string_view)>& on_text_;
};

}  // namespace

Generated generate(LanguageEngine& engine, Sequence& sequence, const Tokenizer* tokenizer,
                   std::span<const std::int32_t> prompt, const GenerateOptions& options,
                   const std::function<void(std::string_view)>& on_text) {
  const std::int64_t length = sequence.length() + static_cast<std::int64_t>(prompt.size());
  require(!prompt.empty(), Errc::kInvalid, "the prompt has no tokens");
  require(length < engine.shape().longest, Errc::kInvalid,
          "the prompt has {} tokens; the model reads at most {}, and one at least is to be generated", length,
          engine.shape().longest);
  const Sampler sampler(options.sampling);
  Generated out;
  TextOut text(tokenizer, options, out.text, on_text);
  std::vector<std::int32_t> all(prompt.begin(), prompt.end());
  std::int32_t next = 0;
  double logprob = 0;
  const auto choose = [&](std::int64_t, std::span<const float> logits) {
    next = sampler.next(logits, all, all.size());
    logprob = log_probability(logits, next);
  };
  Clock::time_point start = Clock::now();
  engine.read(sequence, prompt, Wanted::kLast, choose);
  out.prompt_seconds = seconds_since(start);
  start = Clock::now();
  while (out.stop_reason.empty()) {
    if (std::find(options.end_ids.begin(), options.end_ids.end(), next) != options.end_ids.end()) {
      out.stop_reason = "end";
      break;
    }
    if (static_cast<std::int64_t>(out.ids.size()) >= options.max_tokens) {
      out.stop_reason = "length";
      break;
    }
    out.ids.push_back(next);
    out.logprobs.push_back(logprob);
    all.push_back(next);
    text.push(next);
    const bool is_full = sequence.length() + 1 >= engine.shape().longest;
    const bool is_last = static_cast<std::int64_t>(out.ids.size()) >= options.max_tokens;
    if (text.is_stopped() || is_full || is_last) {
      out.stop_reason = text.is_stopped() ? "stop" : "length";
      break;
    }
    engine.read(sequence, {&all.back(), 1}, Wanted::kLast, choose);
    ++out.decoded;
  }
  out.decode_seconds = seconds_since(start);
  text.finish();
  if (text.is_stopped()) out.stop_reason = "stop";
  return out;
}

std::vector<std::int32_t> read_end_ids(const std::string& folder, const Json& config) {
  const std::string text = read_side_file(folder, "generation_config.json");
  const Json generation = text.empty() ? Json(JsonObject{}) : parse_json(text);
  const Json* ids = generation.find("eos_token_id");
  if (ids == nullptr || ids->is_null()) ids = config.find("eos_token_id");
  std::vector<std::int32_t> end;
  if (ids == nullptr || ids->is_null()) return end;
  if (!ids->is_array()) return {static_cast<std::int32_t>(ids->as_int64())};
  for (const Json& id : ids->as_array()) end.push_back(static_cast<std::int32_t>(id.as_int64()));
  return end;
}

SamplingOptions read_sampling(const std::string& folder) {
  SamplingOptions options{.temperature = 1};
  const std::string text = read_side_file(folder, "generation_config.json");
  if (text.empty()) return options;
  const Json config = parse_json(text);
  const Json* samples = config.find("do_sample");
  if (samples != nullptr && samples->is_bool() && !samples->as_bool()) return options;
  options.visit([&](std::string_view name, auto& value) {
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, double>)
      if (const Json* given = config.find(name); given != nullptr && given->is_number()) value = given->as_double();
  });
  Sampler check(options);
  return options;
}

}  // namespace tessera
