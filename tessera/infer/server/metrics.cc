#include "tessera/infer/server/metrics.h"

#include <fmt/format.h>

namespace tessera::server {
namespace {

void append(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

template <class T>
void append_value(std::string& text, std::string_view name, std::string_view type, std::string_view help, T value) {
  append(text, name, type, help);
  text += fmt::format("{} {}\n", name, value);
}

}  // namespace

void Metrics::count_status(int status) {
  const std::lock_guard lock(mutex_);
  ++statuses_[status];
}

void Metrics::count_cancelled() {
  const std::lock_guard lock(mutex_);
  ++cancelled_;
}

void Metrics::add_first_token(double seconds) {
  const std::lock_guard lock(mutex_);
  first_token_.add(seconds);
}

void Metrics::add_answer(double seconds) {
  const std::lock_guard lock(mutex_);
  answer_.add(seconds);
}

std::string Metrics::text(const BatchStats& batch) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  append_value(text, "tessera_texts_total", "counter", "Texts that requests asked for.", batch.requests);
  append_value(text, "tessera_prompt_tokens_total", "counter", "Tokens of prompts.", batch.prompt_tokens);
  append_value(text, "tessera_reused_prompt_tokens_total", "counter",
               "Tokens of prompts that were not read again, because an earlier text began alike.", batch.reused_tokens);
  append_value(text, "tessera_generated_tokens_total", "counter", "Tokens written.", batch.generated_tokens);
  append_value(text, "tessera_steps_total", "counter", "Runs of the model.", batch.steps);
  append_value(text, "tessera_running_texts", "gauge", "Texts that are being written.", batch.running);
  append_value(text, "tessera_waiting_texts", "gauge", "Texts in the queue.", batch.queued);
  append_value(text, "tessera_cache_pages", "gauge", "Pages of the cache, of 64 tokens each.", batch.pages);
  append_value(text, "tessera_cache_free_pages", "gauge", "Pages that hold nothing.", batch.free_pages);
  append_value(text, "tessera_cancelled_requests_total", "counter", "Requests whose client went away.", cancelled_);
  append(text, "tessera_http_responses_total", "counter", "Answers, by HTTP status.");
  for (const auto& [status, count] : statuses_)
    text += fmt::format("tessera_http_responses_total{{status=\"{}\"}} {}\n", status, count);
  const auto summary = [&](std::string_view name, std::string_view help, const Sum& sum) {
    append(text, name, "summary", help);
    text += fmt::format("{}_sum {}\n{}_count {}\n", name, sum.seconds, name, sum.count);
  };
  summary("tessera_first_text_seconds", "From a request's arrival to its first text.", first_token_);
  summary("tessera_answer_seconds", "From a request's arrival to the end of its answer.", answer_);
  return text;
}

Json Metrics::json(const BatchStats& batch) const {
  const std::lock_guard lock(mutex_);
  Json statuses = JsonObject{};
  for (const auto& [status, count] : statuses_) statuses.set(std::to_string(status), count);
  return JsonObject{{"texts", batch.requests},
                    {"prompt_tokens", batch.prompt_tokens},
                    {"reused_prompt_tokens", batch.reused_tokens},
                    {"generated_tokens", batch.generated_tokens},
                    {"cancelled_requests", cancelled_},
                    {"http_responses", std::move(statuses)}};
}

}  // namespace tessera::server
