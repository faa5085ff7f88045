// tokenizer.json, tokenizer_config.json and chat_template.jinja of a model that was a GGUF file.
//
// Byte-level BPE (`gpt2`): the file's tokens and merges; the cutting into words is known by name only
// (gguf_pre_type.h). SentencePiece (`llama`): BPE with byte fallback whose merges follow from the scores. Source: the
// file format of the tokenizers library; transformers' tokenizer_config.json; fixtures text/smollm2.
#pragma once
#include <string>
#include <vector>

#include "tessera/base/json.h"

namespace tessera {

struct GgufTokenizer {
  std::string tokenizer_json, tokenizer_config_json, chat_template;  // chat_template: "" when the file has none
  std::vector<std::string> remarks;  // what of the file's tokenizer these files cannot say, or had to guess
};

// `metadata`: Container::gguf_metadata(); `config`: of config.json.
// Throws kUnsupported for a kind of tokenizer or a pre type that is not known, naming it and those that are;
// kCorrupt for lists that do not fit together.
GgufTokenizer make_gguf_tokenizer(const Json& metadata, const Json& config);

}  // namespace tessera
