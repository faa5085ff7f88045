#include "tessera/infer/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/base/error.h"

namespace tessera {
namespace {

TEST(Sampler, IsGreedyAtTemperatureZeroAndTakesTheSmallestIdOfEquals) {
  const std::vector<float> logits = {0.5F, 2, 2, -1};
  EXPECT_EQ(Sampler(SamplingOptions{}).next(logits, {}, 0), 1);
  const std::vector<std::int32_t> previous = {1};
  EXPECT_EQ(Sampler({.presence_penalty = 0.25}).next(logits, previous, 0), 2);
}

TEST(Sampler, DrawsTheSameForTheSameSeedAndPositionOnly) {
  const std::vector<float> logits(1000, 0.0F);
  const Sampler one({.temperature = 1, .seed = 7}), other({.temperature = 1, .seed = 8});
  int equal_positions = 0, equal_seeds = 0, equal_streams = 0;
  for (std::uint64_t position = 0; position < 100; ++position) {
    EXPECT_EQ(one.next(logits, {}, position), one.next(logits, {}, position));
    equal_positions += one.next(logits, {}, position) == one.next(logits, {}, position + 1) ? 1 : 0;
    equal_seeds += one.next(logits, {}, position) == other.next(logits, {}, position) ? 1 : 0;
    equal_streams += one.next(logits, {}, position, 0) == one.next(logits, {}, position, 1) ? 1 : 0;
  }
  EXPECT_LE(equal_positions + equal_seeds + equal_streams, 6);  // 0.3 are expected of 300 draws of one in 1000
}

TEST(Sampler, DrawsAsOftenAsTheProbabilitiesSay) {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.2F)};
  const Sampler sampler({.temperature = 1, .seed = 3});
  constexpr int kDraws = 100'000;
  double counts[3] = {};
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.next(logits, {}, static_cast<std::uint64_t>(i))];
  const double p[3] = {0.5, 0.3, 0.2};
  for (int i = 0; i < 3; ++i)  // five standard deviations of a binomial count
    EXPECT_NEAR(counts[i], kDraws * p[i], 5 * std::sqrt(kDraws * p[i] * (1 - p[i])));
}

TEST(Sampler, RefusesWhatMakesNoSense) {
  const auto code_of = [](const SamplingOptions& options, std::vector<float> logits) {
    try {
      Sampler(options).next(logits, {}, 0);
    } catch (const Error& e) {
      return errc_name(e.code());
    }
    return std::string_view();
  };
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(code_of({.temperature = -1}, {0}), "invalid");
  EXPECT_EQ(code_of({.top_p = 1.5}, {0}), "invalid");
  EXPECT_EQ(code_of({.repetition_penalty = 0}, {0}), "invalid");
  EXPECT_EQ(code_of({}, {0, std::nanf("")}), "invalid");
  EXPECT_EQ(code_of({}, {infinity}), "invalid");
  EXPECT_EQ(code_of({}, {-infinity, -infinity}), "invalid");
  EXPECT_EQ(code_of({}, {-infinity, 0}), "");
}

}  // namespace
}  // namespace tessera
