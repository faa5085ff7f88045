// The frequencies of a model's rotary embedding, as its configuration gives them: plain, linear, Llama-3's and YaRN's
// scaling, and a part of the head (partial_rotary_factor).
// Source: transformers' configuration keys rope_theta, rope_scaling and rope_parameters; Llama 3.1's scaled
// frequencies; Peng et al., YaRN (2023), sections 3.2 and 3.4.
#pragma once
#include <cstdint>
#include <vector>

#include "tessera/base/json.h"

namespace tessera::nn {

struct RopeFrequencies {
  std::vector<float> radians;  // a token: [rotary / 2]
  float scale = 1;             // of cosines and sines
  std::int64_t rotary() const { return static_cast<std::int64_t>(radians.size()) * 2; }
};

// config: of the model. Throws kUnsupported for a rope_type that has no formula here, naming those that have.
RopeFrequencies rope_frequencies(const Json& config, std::int64_t head_width);

}  // namespace tessera::nn
