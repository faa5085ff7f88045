// Generation: a prompt's ids, then one token after another, until one that ends the text, a stop string or a limit.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tessera/infer/language_engine.h"
#include "tessera/infer/sampler.h"
#include "tessera/text/tokenizer.h"

namespace tessera {

struct GenerateOptions {
  SamplingOptions sampling{};
  std::int64_t max_tokens = 256;
  std::vector<std::string> stops{};
  std::vector<std::int32_t> end_ids{};  // tokens that end the text, and are not part of it
};

struct Generated {
  std::vector<std::int32_t> ids{};  // without the one that ended it
  std::vector<double> logprobs{};   // of each id, by the model's own logits
  std::string text{};
  std::string stop_reason{};  // "end", "stop" or "length"
  double prompt_seconds = 0, decode_seconds = 0;
  std::int64_t decoded = 0;  // tokens that decode_seconds took
};

// Reads the prompt into `sequence`, then generates. on_text: pieces of the text as they become certain. tokenizer: null
// where only ids are wanted. Throws kInvalid for an empty prompt, one that leaves no room, and what the engine throws.
Generated generate(LanguageEngine& engine, Sequence& sequence, const Tokenizer* tokenizer,
                   std::span<const std::int32_t> prompt, const GenerateOptions& options,
                   const std::function<void(std::string_view)>& on_text = {});

// The ids that end a text, as generation_config.json or else config.json says. `folder`: of the model.
std::vector<std::int32_t> read_end_ids(const std::string& folder, const Json& config);
// How a model's maker samples, as generation_config.json says; temperature 1 where it says nothing, or that it does not
// sample. Throws kInvalid for values that make no sense.
SamplingOptions read_sampling(const std::string& folder);

}  // namespace tessera
