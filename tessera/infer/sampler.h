// Sampler: chooses the next token.
//
//   const Sampler sampler({.temperature = 0.7, .top_p = 0.9, .seed = 1});
//   id = sampler.next(logits, ids_so_far, ids_so_far.size());
//
// Law: the token is a function of (options, logits, ids so far, position, stream): not of threads, of other requests or
// of what was drawn before. Temperature 0 takes the largest logit, of equals the smallest id, after the penalties.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/infer/sampler_step.h"

namespace tessera {

// One value for each step (infer/samplers/); those that are neutral are left out.
struct SamplingOptions {
  double temperature = 0;
  double top_k = 0, top_p = 1, min_p = 0, typical_p = 1;
  double repetition_penalty = 1, presence_penalty = 0, frequency_penalty = 0;
  std::uint64_t seed = 0;

  template <class V>
  void visit(V&& v) {
    v("temperature", temperature);
    v("top_k", top_k);
    v("top_p", top_p);
    v("min_p", min_p);
    v("typical_p", typical_p);
    v("repetition_penalty", repetition_penalty);
    v("presence_penalty", presence_penalty);
    v("frequency_penalty", frequency_penalty);
    v("seed", seed);
  }
};

using SamplerChain = std::vector<std::pair<const SamplerStep*, double>>;

class Sampler final {
 public:
  // The steps in transformers' order. Throws kInvalid for a value that makes no sense, naming what would.
  explicit Sampler(const SamplingOptions& options);
  // These steps in this order: llama.cpp's, say. No temperature 0 among them.
  Sampler(SamplerChain chain, std::uint64_t seed);

  // logits: [vocabulary]; previous: the ids so far; position: of the token to choose; stream: tells apart what is
  // sampled with one seed. Throws kInvalid for logits that hold a NaN, +inf, or nothing finite.
  std::int32_t next(std::span<const float> logits, std::span<const std::int32_t> previous, std::uint64_t position,
                    std::uint64_t stream = 0) const;

  // From which next() draws: [vocabulary], sums to 1. Greedy: 1 for one token.
  std::vector<double> probabilities(std::span<const float> logits, std::span<const std::int32_t> previous) const;

  bool is_greedy() const { return is_greedy_; }

 private:
  std::vector<double> shaped(std::span<const float> logits, std::span<const std::int32_t> previous) const;

  SamplerChain chain_;
  std::uint64_t seed_ = 0;
  bool is_greedy_ = false;
};

}  // namespace tessera
