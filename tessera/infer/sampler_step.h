// SamplerStep: one way in which the probabilities of the next token are shaped. One file each in infer/samplers/.
// Formulas: transformers' logits processors, in f64; OpenAI's for presence and frequency. tests/data/text/README.md.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace tessera {

inline constexpr double kRemoved = -std::numeric_limits<double>::infinity();

// What the steps change. Removed tokens have the logit kRemoved.
struct Candidates {
  std::vector<double> logits;              // [vocabulary]
  std::span<const std::int32_t> previous;  // ids so far: prompt and output
};

struct SamplerStep {
  std::string_view name;
  int place = 0;                   // among the other steps, lowest first: transformers' order
  double neutral = 0;              // the value with which it changes nothing
  double lowest = 0, highest = 0;  // values that make sense
  void (*apply)(Candidates& candidates, double value) = nullptr;
};

std::span<const SamplerStep* const> all_sampler_steps();      // by place
const SamplerStep* find_sampler_step(std::string_view name);  // null: there is none

// exp(x - max) / sum; 0 for what is removed. At least one logit is finite.
std::vector<double> softmax(std::span<const double> logits);
// Ids of what is not removed, the largest logit first; of equal ones the smaller id.
std::vector<std::int32_t> by_falling_logit(std::span<const double> logits);
// How often each id stands in `previous`: (id, count) by rising id. Ids beyond the vocabulary are left out.
std::vector<std::pair<std::size_t, std::size_t>> count_ids(const Candidates& candidates);

}  // namespace tessera
