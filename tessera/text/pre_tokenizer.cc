#include "tessera/text/pre_tokenizer.h"

#include "tessera_registry/pre_tokenizers.inc"

namespace tessera {

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Json& json) {
  return make_part<PreTokenizer>(kRegistry_pre_tokenizers, "pre-tokenizer", json);
}

}  // namespace tessera
