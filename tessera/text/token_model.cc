#include "tessera/text/token_model.h"

#include "tessera_registry/token_models.inc"

namespace tessera {

std::unique_ptr<TokenModel> make_token_model(const Json& json) {
  return make_part<TokenModel>(kRegistry_token_models, "token-model", json);
}

}  // namespace tessera
