// How a GGUF file scales its rope, as config.json's `rope_scaling`.
// Two ways: the keys `rope.scaling.*` (none, linear, yarn), and a tensor of divisors, one for each frequency, into
// which llama.cpp's converter computes Llama-3's rule. The rule's numbers are found again from the divisors. Source:
// llama.cpp, LlamaModel::generate_extra_tensors and its loading of rope.scaling; transformers, modeling_rope_utils.py.
#pragma once
#include <cstdint>
#include <span>

#include "tessera/base/json.h"
#include "tessera/io/gguf_keys.h"

namespace tessera {

struct RopeFrequencies {
  double theta = 10000;
  std::int64_t head_width = 0;
};

// The numbers of Llama-3's rule that give these divisors, to the rounding of f32; null when all divisors are 1.
// low_freq_factor is 1 and high_freq_factor 4, as in every model that Meta published (only their ratio and
// original_max_position_embeddings / low_freq_factor can be told from divisors). `hint`: original context length, or 0.
// divisors: [head_width / 2]. Throws kUnsupported when no such numbers give them, kShape for another count.
Json llama3_rope_scaling(const RopeFrequencies& frequencies, std::span<const float> divisors, std::int64_t hint);

// From the keys `rope.scaling.*` of the architecture. Null: no scaling. Throws kUnsupported for types and numbers that
// transformers has no equal of, naming the key.
Json rope_scaling_of(GgufKeys& keys);

}  // namespace tessera
