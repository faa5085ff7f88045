// temperature: logits are divided by it. 0 means greedy, which Sampler does without steps.
#pragma once
#include "tessera/infer/sampler_step.h"

namespace tessera::samplers {

inline void apply_temperature(Candidates& candidates, double value) {
  for (double& x : candidates.logits) x /= value;
}
inline constexpr SamplerStep temperature{
    .name = "temperature", .place = 4, .neutral = 1, .lowest = 1e-6, .highest = 1e6, .apply = &apply_temperature};

}  // namespace tessera::samplers
