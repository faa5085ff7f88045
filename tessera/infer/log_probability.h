// The logarithm of the probability that logits give a token, in nats and f64. logits: [vocabulary].
#pragma once
#include <cstdint>
#include <span>

namespace tessera {

double log_probability(std::span<const float> logits, std::int32_t id);

}  // namespace tessera
