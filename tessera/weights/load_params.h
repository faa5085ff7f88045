// Fills a model's parameters from a checkpoint: each one by its name, packed as kernels read it, in the format in which
// the checkpoint holds it. Before any bytes are read, names and shapes are compared: what the model wants and the
// checkpoint lacks, what does not fit, and what the checkpoint has beyond it are all said at once.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/io/checkpoint.h"
#include "tessera/weights/param.h"

namespace tessera {

struct LoadOptions {
  // Names of tensors that the checkpoint may have and the model does not use.
  std::function<bool(std::string_view)> may_be_extra = {};
  bool show_progress = false;
  std::function<void()> check = {};  // called often; what it throws ends the work
};

// Where a parameter comes from: a module of the checkpoint for a matrix, a tensor for a vector.
struct ParamSource {
  const Module* module = nullptr;
  const StoredTensor* tensor = nullptr;
};
// Of each parameter, in order. Throws kNotFound (missing), kShape, kCorrupt (extra), kUnsupported (a weight that needs
// a companion tensor).
std::vector<ParamSource> find_param_sources(const Checkpoint& checkpoint, std::span<Param* const> params,
                                            const LoadOptions& options);

// Throws what find_param_sources and reading throw.
void load_params(Stream& stream, const Checkpoint& checkpoint, std::span<Param* const> params,
                 const LoadOptions& options);

}  // namespace tessera
