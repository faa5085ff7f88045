// frequency_penalty: taken from the logit of each id as often as it was there.
#pragma once
#include "tessera/infer/sampler_step.h"

namespace tessera::samplers {

inline void apply_frequency_penalty(Candidates& candidates, double value) {
  for (const auto& [id, count] : count_ids(candidates)) candidates.logits[id] -= value * static_cast<double>(count);
}
inline constexpr SamplerStep frequency_penalty{.name = "frequency_penalty",
                                               .place = 3,
                                               .neutral = 0,
                                               .lowest = -1e6,
                                               .highest = 1e6,
                                               .apply = &apply_frequency_penalty};

}  // namespace tessera::samplers
