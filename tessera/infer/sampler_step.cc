#include "tessera/infer/sampler_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tessera_registry/samplers.inc"

namespace tessera {

std::span<const SamplerStep* const> all_sampler_steps() {
  static constexpr auto kSorted = [] {
    std::array<const SamplerStep*, std::size(kRegistry_samplers)> steps{};
    std::copy(std::begin(kRegistry_samplers), std::end(kRegistry_samplers), steps.begin());
    std::sort(steps.begin(), steps.end(),
              [](const SamplerStep* a, const SamplerStep* b) { return a->place < b->place; });
    return steps;
  }();
  return kSorted;
}

const SamplerStep* find_sampler_step(std::string_view name) {
  for (const SamplerStep* step : all_sampler_steps())
    if (step->name == name) return step;
  return nullptr;
}

std::vector<double> softmax(std::span<const double> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += p[i] = std::exp(logits[i] - largest);
  for (double& x : p) x /= sum;
  return p;
}

std::vector<std::int32_t> by_falling_logit(std::span<const double> logits) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] != kRemoved) ids.push_back(static_cast<std::int32_t>(i));
  std::sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) {
    const double x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  return ids;
}

std::vector<std::pair<std::size_t, std::size_t>> count_ids(const Candidates& candidates) {
  std::vector<std::int32_t> ids(candidates.previous.begin(), candidates.previous.end());
  std::sort(ids.begin(), ids.end());
  std::vector<std::pair<std::size_t, std::size_t>> counts;
  for (const std::int32_t id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= candidates.logits.size()) continue;
    const auto place = static_cast<std::size_t>(id);
    if (counts.empty() || counts.back().first != place) counts.emplace_back(place, 0);
    ++counts.back().second;
  }
  return counts;
}

}  // namespace tessera
