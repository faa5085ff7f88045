#include "tessera/infer/server/completion_request.h"

#include <algorithm>
#include <limits>

#include "tessera/infer/server/api_error.h"

namespace tessera::server {
namespace {

constexpr std::string_view kPrompt = "prompt";

std::int32_t read_id(const Json& id, std::int64_t vocabulary) {
  if (!id.is_integer()) refuse("invalid_type", kPrompt, "prompt must be a string, a list of strings, or token ids");
  const double rough = id.as_double();
  if (rough < 0 || rough >= static_cast<double>(vocabulary))
    refuse("invalid_value", kPrompt, "prompt holds token {}; the vocabulary has {}", id.dump(), vocabulary);
  return static_cast<std::int32_t>(id.as_int64());
}

std::vector<std::int32_t> read_ids(const JsonArray& list, std::int64_t vocabulary) {
  if (list.empty()) refuse("empty_array", kPrompt, "prompt holds an empty list of tokens");
  std::vector<std::int32_t> ids;
  ids.reserve(list.size());
  for (const Json& id : list) ids.push_back(read_id(id, vocabulary));
  return ids;
}

std::vector<CompletionRequest::Prompt> read_prompts(const Json& prompt, std::int64_t vocabulary) {
  if (prompt.is_string()) return {prompt.as_string()};
  if (!prompt.is_array()) refuse("invalid_type", kPrompt, "prompt must be a string, a list of strings, or token ids");
  const JsonArray& list = prompt.as_array();
  if (list.empty()) refuse("empty_array", kPrompt, "prompt is empty");
  if (list[0].is_number()) return {read_ids(list, vocabulary)};
  if (std::ssize(list) > kMostChoices)
    refuse("array_above_max_length", kPrompt, "prompt has {} texts; at most {}", list.size(), kMostChoices);
  std::vector<CompletionRequest::Prompt> prompts;
  for (const Json& item : list) {
    if (item.is_string()) {
      prompts.emplace_back(item.as_string());
    } else if (item.is_array()) {
      prompts.emplace_back(read_ids(item.as_array(), vocabulary));
    } else {
      refuse("invalid_type", kPrompt, "prompt must be a string, a list of strings, or token ids");
    }
  }
  return prompts;
}

}  // namespace

CompletionRequest read_completion_request(const Json& body, const RequestDefaults& defaults) {
  RequestFields fields(body);
  CompletionRequest request{.options = read_generation_options(fields, defaults)};
  request.prompts = read_prompts(fields.required(kPrompt), defaults.vocabulary);
  request.echoes = fields.boolean("echo").value_or(false);
  if (const auto logprobs = fields.whole("logprobs", {0, kMostTopLogprobs}))
    request.logprobs = static_cast<int>(*logprobs);
  request.options.max_tokens =
      fields.whole("max_tokens", {request.echoes ? 0 : 1, std::numeric_limits<std::int64_t>::max()})
          .value_or(kCompletionTokens);
  const std::int64_t choices = request.options.n * std::ssize(request.prompts);
  if (choices > kMostChoices)
    refuse("invalid_value", "n", "n is {} for {} prompts: {} texts; at most {}", request.options.n,
           request.prompts.size(), choices, kMostChoices);
  if (const auto best = fields.whole("best_of", {1, kMostChoices}); best && *best != request.options.n)
    refuse("unsupported_value", "best_of", "best_of is {}; all texts that are written are returned: it must be n, {}",
           *best, request.options.n);
  fields.refuse_unless("suffix", "", "text is written at the end only");
  fields.refuse_rest();
  return request;
}

}  // namespace tessera::server
