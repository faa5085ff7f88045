// presence_penalty: taken from the logit of each id that was there.
#pragma once
#include "tessera/infer/sampler_step.h"

namespace tessera::samplers {

inline void apply_presence_penalty(Candidates& candidates, double value) {
  for (const auto& [id, count] : count_ids(candidates)) candidates.logits[id] -= value;
}
inline constexpr SamplerStep presence_penalty{.name = "presence_penalty",
                                              .place = 2,
                                              .neutral = 0,
                                              .lowest = -1e6,
                                              .highest = 1e6,
                                              .apply = &apply_presence_penalty};

}  // namespace tessera::samplers
