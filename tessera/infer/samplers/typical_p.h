// typical_p: the smallest set of tokens whose information is nearest to the entropy and whose sum reaches p stays, and
// equals of its last. Source: Meister et al. 2022, "Locally typical sampling".
#pragma once
#include <algorithm>
#include <cmath>

#include "tessera/infer/sampler_step.h"

namespace tessera::samplers {

inline void apply_typical_p(Candidates& candidates, double value) {
  const std::vector<double> p = softmax(candidates.logits);
  double largest = kRemoved, sum = 0, entropy = 0;
  for (const double x : candidates.logits) largest = std::max(largest, x);
  for (const double x : candidates.logits) sum += std::exp(x - largest);
  const double norm = largest + std::log(sum);
  struct Token {
    std::size_t id;
    double distance;
  };
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (candidates.logits[i] != kRemoved) entropy -= (candidates.logits[i] - norm) * p[i];
  for (std::size_t i = 0; i < p.size(); ++i)
    if (candidates.logits[i] != kRemoved) tokens.push_back({i, std::abs(norm - candidates.logits[i] - entropy)});
  std::sort(tokens.begin(), tokens.end(), [](const Token& a, const Token& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  });
  std::size_t last = 0;
  for (double reached = p[tokens[0].id]; reached < value && last + 1 < tokens.size();) reached += p[tokens[++last].id];
  for (const Token& token : tokens)
    if (token.distance > tokens[last].distance) candidates.logits[token.id] = kRemoved;
}
inline constexpr SamplerStep typical_p{
    .name = "typical_p", .place = 8, .neutral = 1, .lowest = 1e-6, .highest = 1, .apply = &apply_typical_p};

}  // namespace tessera::samplers
