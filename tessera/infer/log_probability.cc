#include "tessera/infer/log_probability.h"

#include <algorithm>
#include <cmath>

namespace tessera {

double log_probability(std::span<const float> logits, std::int32_t id) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - largest);
  return logits[static_cast<std::size_t>(id)] - largest - std::log(sum);
}

}  // namespace tessera
