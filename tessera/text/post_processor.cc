#include "tessera/text/post_processor.h"

#include "tessera_registry/post_processors.inc"

namespace tessera {

std::unique_ptr<PostProcessor> make_post_processor(const Json& json) {
  return make_part<PostProcessor>(kRegistry_post_processors, "post-processor", json);
}

}  // namespace tessera
