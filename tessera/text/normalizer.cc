#include "tessera/text/normalizer.h"

#include "tessera_registry/normalizers.inc"

namespace tessera {

std::unique_ptr<Normalizer> make_normalizer(const Json& json) {
  return make_part<Normalizer>(kRegistry_normalizers, "normalizer", json);
}

}  // namespace tessera
