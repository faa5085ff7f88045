// BPE: byte pair encoding: characters, of which the pair with the lowest rank is merged until no pair has one.
// Law: tokens are merged as if always the leftmost pair of the lowest rank were next.
// Source: Sennrich et al. 2016, "Neural machine translation of rare words with subword units"; the tokenizers library.
#pragma once
#include "tessera/text/token_model.h"

namespace tessera::token_models {

std::unique_ptr<TokenModel> make_bpe(const Json& json);
inline constexpr TokenModelKind bpe{"BPE", &make_bpe};

}  // namespace tessera::token_models
