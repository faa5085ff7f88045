// Quantizes a checkpoint: a folder of dense weights becomes a folder of a dialect's quantized ones.
// Rows are read in stripes of about 2 MiB, twice where a format's global needs the maximum of the whole first, so
// memory does not grow with the model: each thread holds a stripe, or the weights of a small group that shares a
// global. Law (4) makes the stripes' bits those of the whole.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tessera/io/checkpoint.h"
#include "tessera/weights/recipe.h"

namespace tessera {

struct QuantizeOptions {
  Recipe recipe;
  const Dialect* dialect = nullptr;
  const Writer* writer = nullptr;  // null: the dialect's own
  RandomKey key{};                 // seed, for stochastic rounding; the stream is the parameter's name
  bool show_progress = false;
  std::function<void()> check = {};  // called often, on any thread; what it throws ends the work
};

struct QuantizedSummary {
  std::string module, format, writer;
  Extent extent{};
  std::uint64_t bytes_before = 0, bytes_after = 0;
};
struct QuantizeReport {
  std::vector<QuantizedSummary> quantized;          // sorted by module
  std::vector<ContainerWarning> warnings;           // weights that stay dense though the recipe meant them
  std::uint64_t bytes_before = 0, bytes_after = 0;  // of all tensors
};

// Writes `out`, or leaves it absent. Throws kInvalid: the model is quantized already, holds a number that is not
// finite, or the recipe matches nothing; kShape: a rule's weights do not divide into its blocks; kUnsupported: the
// dialect or the writer cannot say the format; and what reading and writing throw.
QuantizeReport quantize_checkpoint(Stream& stream, const Checkpoint& in, const std::string& out,
                                   const QuantizeOptions& options);

// The maximum of magnitudes of a dense module, read in stripes. Throws kInvalid at the first number that is not finite,
// naming tensor and place.
float dense_amax(Stream& stream, const Checkpoint& in, const Module& module);

}  // namespace tessera
