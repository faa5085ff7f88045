// top_k: what is below the k-th largest logit goes; equals of the k-th stay. 0: all stay.
#pragma once
#include <algorithm>
#include <functional>

#include "tessera/infer/sampler_step.h"

namespace tessera::samplers {

inline void apply_top_k(Candidates& candidates, double value) {
  const auto k = static_cast<std::size_t>(value);
  if (k == 0 || k >= candidates.logits.size()) return;
  std::vector<double> sorted = candidates.logits;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(k - 1), sorted.end(), std::greater<>());
  const double least = sorted[k - 1];
  for (double& x : candidates.logits)
    if (x < least) x = kRemoved;
}
inline constexpr SamplerStep top_k{
    .name = "top_k", .place = 5, .neutral = 0, .lowest = 0, .highest = 2147483647, .apply = &apply_top_k};

}  // namespace tessera::samplers
