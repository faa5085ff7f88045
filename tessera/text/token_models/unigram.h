// Unigram: the tokens whose scores have the largest sum. A character that no token covers alone is unknown, and runs of
// unknown characters are one token.
// Law: of equal sums the one found first stands: shorter last tokens before longer ones, earlier ones first.
// Source: Kudo 2018, "Subword regularization"; the tokenizers library.
#pragma once
#include "tessera/text/token_model.h"

namespace tessera::token_models {

std::unique_ptr<TokenModel> make_unigram(const Json& json);
inline constexpr TokenModelKind unigram{"Unigram", &make_unigram};

}  // namespace tessera::token_models
