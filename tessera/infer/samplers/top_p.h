// top_p: the least probable go, while their sum is at most 1 - p; one stays at least.
#pragma once
#include <vector>

#include "tessera/infer/sampler_step.h"

namespace tessera::samplers {

inline void apply_top_p(Candidates& candidates, double value) {
  const std::vector<std::int32_t> ids = by_falling_logit(candidates.logits);
  const std::vector<double> p = softmax(candidates.logits);
  double sum = 0;
  for (std::size_t i = ids.size() - 1; i > 0; --i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    sum += p[id];
    if (sum > 1 - value) break;
    candidates.logits[id] = kRemoved;
  }
}
inline constexpr SamplerStep top_p{
    .name = "top_p", .place = 6, .neutral = 1, .lowest = 0, .highest = 1, .apply = &apply_top_p};

}  // namespace tessera::samplers
