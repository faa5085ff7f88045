// config.json and generation_config.json of a model that was a GGUF file.
// Source: transformers' LlamaConfig, Qwen2Config, Qwen3Config; fixtures text/smollm2.
#pragma once
#include <string>
#include <string_view>

#include "tessera/base/json.h"
#include "tessera/io/gguf_architecture.h"
#include "tessera/io/gguf_keys.h"

namespace tessera {

// From the architecture's keys; `vocabulary` and `hidden` are the embedding's shape, which must be what the keys say.
// Throws kCorrupt for sizes that no model has; kUnsupported for head counts by layer, experts, heads whose values have
// another width than their keys, a rope over a part of the head.
GgufSizes read_gguf_sizes(GgufKeys& keys, std::int64_t vocabulary, std::int64_t hidden);

struct GgufConfigInput {
  const GgufArchitecture& architecture;
  const GgufFacts& facts;
  GgufKeys& keys;       // of the architecture
  GgufKeys& tokenizer;  // "tokenizer.ggml."
  double rope_theta;
  Json rope_scaling;
  bool tied;  // the embedding is also the output
};
// config.json with sorted keys, without torch_dtype.
Json make_gguf_config(const GgufConfigInput& input);

// Ids from `config`; the end of a turn beside the end of the text where the file names another one.
// Throws kCorrupt for an id beyond the vocabulary.
Json make_generation_config(const Json& config, GgufKeys& tokenizer);

// As Python's json.dumps(value, indent=2) and a newline: 100000.0 is not 1e+05.
std::string config_text(const Json& value);

}  // namespace tessera
