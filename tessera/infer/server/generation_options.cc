#include "tessera/infer/server/generation_options.h"

#include <charconv>
#include <limits>

#include "tessera/base/utf8.h"
#include "tessera/infer/server/api_error.h"

namespace tessera::server {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostBiases = 1024;
constexpr std::size_t kLongestStop = 1024;  // bytes

void read_model(RequestFields& fields, const std::string& served) {
  const Json& model = fields.required("model");
  if (!model.is_string()) refuse("invalid_type", "model", "model must be a string");
  if (model.as_string() != served) throw unknown_model(model.as_string(), served);
}

void read_sampling(RequestFields& fields, SamplingOptions& sampling) {
  const auto set = [](double& value, std::optional<double> given) { value = given.value_or(value); };
  set(sampling.temperature, fields.number("temperature", {0, 2}));
  if (sampling.temperature < 1e-5) sampling.temperature = 0;  // the quotients would leave f64 nothing to tell apart
  set(sampling.top_p, fields.number("top_p", {0, 1}));
  set(sampling.min_p, fields.number("min_p", {0, 1}));
  set(sampling.typical_p, fields.number("typical_p", {1e-6, 1}));
  set(sampling.presence_penalty, fields.number("presence_penalty", {-2, 2}));
  set(sampling.frequency_penalty, fields.number("frequency_penalty", {-2, 2}));
  set(sampling.repetition_penalty, fields.number("repetition_penalty", {0.01, 100}));
  if (const auto k = fields.whole("top_k", {-1, 2147483647}))  // -1: all, as other servers have it
    sampling.top_k = *k < 0 ? 0 : static_cast<double>(*k);
}

std::vector<std::string> read_stops(RequestFields& fields) {
  std::vector<std::string> stops;
  const Json* stop = fields.find("stop");
  if (stop == nullptr) return stops;
  const auto add = [&](const Json& text) {
    if (!text.is_string()) refuse("invalid_type", "stop", "stop must be a string or a list of strings");
    if (text.as_string().empty()) refuse("invalid_value", "stop", "stop holds an empty string");
    if (text.as_string().size() > kLongestStop)
      refuse("string_above_max_length", "stop", "stop holds a string of {} bytes; at most {}", text.as_string().size(),
             kLongestStop);
    stops.push_back(text.as_string());
  };
  if (!stop->is_array()) {
    add(*stop);
    return stops;
  }
  if (std::ssize(stop->as_array()) > kMostStops)
    refuse("array_above_max_length", "stop", "stop has {} strings; at most {}", stop->as_array().size(), kMostStops);
  for (const Json& text : stop->as_array()) add(text);
  return stops;
}

std::vector<std::pair<std::int32_t, float>> read_logit_bias(RequestFields& fields, std::int64_t vocabulary) {
  std::vector<std::pair<std::int32_t, float>> biases;
  const Json* given = fields.object("logit_bias");
  if (given == nullptr) return biases;
  if (given->as_object().size() > kMostBiases)
    refuse("invalid_value", "logit_bias", "logit_bias names {} tokens; at most {}", given->as_object().size(),
           kMostBiases);
  for (const auto& [name, bias] : given->as_object()) {
    std::int64_t id = -1;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), id);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size() || id < 0 || id >= vocabulary)
      refuse("invalid_value", "logit_bias", "logit_bias names token {}; the vocabulary has {}", printable(name),
             vocabulary);
    if (!bias.is_number()) refuse("invalid_type", "logit_bias", "logit_bias of token {} must be a number", id);
    const double value = bias.as_double();
    if (!(value >= -100 && value <= 100))
      refuse("invalid_value", "logit_bias", "logit_bias of token {} is {}; it must be between -100 and 100", id, value);
    biases.emplace_back(static_cast<std::int32_t>(id), static_cast<float>(value));
  }
  return biases;
}

void read_stream(RequestFields& fields, GenerationOptions& options) {
  options.streams = fields.boolean("stream").value_or(false);
  const Json* given = fields.object("stream_options");
  if (given == nullptr) return;
  if (!options.streams) refuse("invalid_value", "stream_options", "stream_options needs stream: true");
  RequestFields stream(*given, "stream_options.");
  options.includes_usage = stream.boolean("include_usage").value_or(false);
  stream.refuse_unless("include_obfuscation", false, "chunks are sent as they are");
  stream.refuse_rest();
}

}  // namespace

GenerationOptions read_generation_options(RequestFields& fields, const RequestDefaults& defaults) {
  GenerationOptions options{.sampling = defaults.sampling};
  read_model(fields, defaults.model);
  read_sampling(fields, options.sampling);
  if (const auto seed = fields.whole("seed", {std::numeric_limits<std::int64_t>::min(), kAny}))
    options.seed = static_cast<std::uint64_t>(*seed);
  if (const auto n = fields.whole("n", {1, kAny})) options.n = *n;
  if (options.n > kMostChoices) refuse("invalid_value", "n", "n is {}; it must be {} or less", options.n, kMostChoices);
  options.stops = read_stops(fields);
  options.logit_bias = read_logit_bias(fields, defaults.vocabulary);
  options.ignores_end = fields.boolean("ignore_eos").value_or(false);
  read_stream(fields, options);
  // Names of the caller and of its bookkeeping.
  fields.ignore(
      {"user", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "service_tier"});
  fields.refuse_unless("store", false, "answers are not kept");
  return options;
}

}  // namespace tessera::server
