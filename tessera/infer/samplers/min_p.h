// min_p: what is less probable than p times the most probable goes.
#pragma once
#include <algorithm>
#include <vector>

#include "tessera/infer/sampler_step.h"

namespace tessera::samplers {

inline void apply_min_p(Candidates& candidates, double value) {
  const std::vector<double> p = softmax(candidates.logits);
  const double least = value * *std::max_element(p.begin(), p.end());
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p[i] < least) candidates.logits[i] = kRemoved;
}
inline constexpr SamplerStep min_p{
    .name = "min_p", .place = 7, .neutral = 0, .lowest = 0, .highest = 1, .apply = &apply_min_p};

}  // namespace tessera::samplers
