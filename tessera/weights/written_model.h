// What is declared of a model that we write: its quantized weights, and every linear layer that stays dense.
#pragma once
#include <vector>

#include "tessera/io/checkpoint.h"

namespace tessera {

// `quantized`: sorted by name. The linear layers of `in` that are not among them are declared dense; embeddings and
// norms are no linear layers. A head that the file does not hold (it is tied to the embedding) is declared dense too:
// loaders that quantize by class would take it for one of theirs.
WrittenModel written_model(const Checkpoint& in, std::vector<WrittenModule> quantized, CacheScales cache_scales);

}  // namespace tessera
