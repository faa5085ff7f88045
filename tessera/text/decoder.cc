#include "tessera/text/decoder.h"

#include "tessera_registry/decoders.inc"

namespace tessera {

std::unique_ptr<Decoder> make_decoder(const Json& json) {
  return make_part<Decoder>(kRegistry_decoders, "decoder", json);
}

}  // namespace tessera
