// repetition_penalty: logits of ids that were there, once each: divided where positive, multiplied where negative.
#pragma once
#include "tessera/infer/sampler_step.h"

namespace tessera::samplers {

inline void apply_repetition_penalty(Candidates& candidates, double value) {
  for (const auto& [id, count] : count_ids(candidates)) {
    double& x = candidates.logits[id];
    x = x < 0 ? x * value : x / value;
  }
}
inline constexpr SamplerStep repetition_penalty{.name = "repetition_penalty",
                                                .place = 1,
                                                .neutral = 1,
                                                .lowest = 1e-6,
                                                .highest = 1e6,
                                                .apply = &apply_repetition_penalty};

}  // namespace tessera::samplers
