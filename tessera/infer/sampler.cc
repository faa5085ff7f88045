#include "tessera/infer/sampler.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tessera/base/error.h"
#include "tessera/numeric/philox.h"

namespace tessera {
namespace {

void require_sensible(const SamplerStep& step, double value) {
  require(std::isfinite(value) && value >= step.lowest && value <= step.highest, Errc::kInvalid,
          "{} is {}; {:g} to {:g} make sense", step.name, value, step.lowest, step.highest);
}

// In [0, 1), 53 bits.
double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t position) {
  const RandomKey key{.seed = seed, .stream = stream};
  const std::uint64_t bits = std::uint64_t{random_word(key, 2 * position)} << 32 | random_word(key, 2 * position + 1);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

std::size_t largest_of(const std::vector<double>& logits) {
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options) : seed_(options.seed), is_greedy_(options.temperature == 0) {
  SamplingOptions copy = options;
  copy.visit([&](std::string_view name, auto& value) {
    if constexpr (std::is_same_v<decltype(value), double&>) {
      const SamplerStep* step = find_sampler_step(name);
      TESSERA_ASSERT(step != nullptr);
      if (is_greedy_ && step->name == "temperature") return;
      require_sensible(*step, value);
      if (value != step->neutral) chain_.emplace_back(step, value);
    }
  });
  std::sort(chain_.begin(), chain_.end(), [](const auto& a, const auto& b) { return a.first->place < b.first->place; });
}

Sampler::Sampler(SamplerChain chain, std::uint64_t seed) : chain_(std::move(chain)), seed_(seed) {
  for (const auto& [step, value] : chain_) require_sensible(*step, value);
}

std::vector<double> Sampler::shaped(std::span<const float> logits, std::span<const std::int32_t> previous) const {
  const bool sound = std::all_of(logits.begin(), logits.end(), [](float x) { return x < INFINITY; });  // no NaN
  require(sound, Errc::kInvalid, "the logits hold a NaN or an infinity");
  Candidates candidates{.logits = {logits.begin(), logits.end()}, .previous = previous};
  const auto require_one = [&] {
    require(std::any_of(candidates.logits.begin(), candidates.logits.end(), [](double x) { return std::isfinite(x); }),
            Errc::kInvalid, "none of {} logits is finite", logits.size());
  };
  require_one();
  for (const auto& [step, value] : chain_) step->apply(candidates, value);
  require_one();
  return std::move(candidates.logits);
}

std::int32_t Sampler::next(std::span<const float> logits, std::span<const std::int32_t> previous,
                           std::uint64_t position, std::uint64_t stream) const {
  const std::vector<double> kept = shaped(logits, previous);
  if (is_greedy_) return static_cast<std::int32_t>(largest_of(kept));
  const std::vector<double> p = softmax(kept);
  double left = uniform(seed_, stream, position);
  std::size_t last = 0;
  for (std::size_t id = 0; id < p.size(); ++id) {
    if (p[id] == 0) continue;
    last = id;
    left -= p[id];
    if (left < 0) break;
  }
  return static_cast<std::int32_t>(last);
}

std::vector<double> Sampler::probabilities(std::span<const float> logits,
                                           std::span<const std::int32_t> previous) const {
  const std::vector<double> kept = shaped(logits, previous);
  if (!is_greedy_) return softmax(kept);
  std::vector<double> p(kept.size(), 0);
  p[largest_of(kept)] = 1;
  return p;
}

}  // namespace tessera
