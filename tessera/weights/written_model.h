// What is declared of a model that we write: its quantized weights, and every linear layer that stays dense.
#pragma once
#include <vector>

#include "tessera/io/checkpoint.h"

namespace tessera {

// `quantized`: sorted by name. The linear layers of `in` that are not among them are declared dense; embeddings and
// norms are no linear layers. A head that the file does not hold (it is tied to the embedding) is declared dense too:
// loaders that quantize by class would take it for one of theirs.
WrittenModel written_model(const Checkpoint& in, std::vector<WrittenModule> quantized, CacheScales cache_scales);

// Throws kUnsupported of a dialect that is only read, listing those that are written.
void require_written(const Dialect& dialect);

// Throws kUnsupported of the first weight that means nothing without a tensor that `what` cannot take along.
void require_self_contained(const Checkpoint& in, std::string_view what);

// Writes the dialect's declaration into the model's configuration files, or its files' metadata; a model without a
// configuration gets no config.json.
void declare(const Dialect& dialect, const WrittenModel& model, ModelConfig& config);

}  // namespace tessera
