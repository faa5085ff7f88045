// Samplers against transformers' processors in f64: which tokens stay, and with which probabilities.
// tests/data/text/README.md tells what a case holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/infer/sampler.h"
#include "tests/support/fixture.h"

namespace tessera {
namespace {

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  std::vector<T> values(tensor.bytes() / sizeof(T));
  std::memcpy(values.data(), tensor.data(), tensor.bytes());
  return values;
}

std::string steps_text(const Json& steps) { return steps.dump(); }

SamplerChain chain_of(const Json& steps) {
  SamplerChain chain;
  for (const Json& step : steps.as_array()) {
    const SamplerStep* found = find_sampler_step(step.as_array()[0].as_string());
    EXPECT_NE(found, nullptr) << step.dump();
    chain.emplace_back(found, step.as_array()[1].as_double());
  }
  return chain;
}

// Of equal logits the library may keep others: then counts and sorted probabilities are compared.
bool has_ties(const std::string& row) { return row == "flat" || row == "steps" || row == "zeros_and_ties"; }

TEST(Samplers, GiveTheProbabilitiesOfTransformers) {
  const Json fixture = parse_json(read_file(std::string(TESSERA_TEST_DATA) + "/text/samplers/cases.json"));
  const test::Fixture tensors = test::read_fixture("text/samplers/samplers.safetensors");
  std::map<std::string, std::vector<std::int32_t>> previous;
  for (const auto& [row, ids] : fixture.find("previous_ids")->as_object())
    for (const Json& id : ids.as_array()) previous[row].push_back(static_cast<std::int32_t>(id.as_int64()));
  double worst = 0;
  for (const Json& c : fixture.find("cases")->as_array()) {
    const std::string row = c.string_or("logits", "");
    SCOPED_TRACE(c.string_or("name", "") + " " + steps_text(*c.find("steps")));
    std::vector<double> expected = values_of<double>(tensors.at(c.string_or("name", "") + ".p"));
    std::vector<double> p =
        Sampler(chain_of(*c.find("steps")), 0)
            .probabilities(values_of<float>(tensors.at("logits." + row)), previous.at(c.string_or("previous_ids", "")));
    ASSERT_EQ(p.size(), expected.size());
    if (has_ties(row)) {
      std::sort(p.begin(), p.end());
      std::sort(expected.begin(), expected.end());
    }
    for (std::size_t i = 0; i < p.size(); ++i) {
      EXPECT_EQ(p[i] == 0, expected[i] == 0) << "token " << i;
      worst = std::max(worst, std::abs(p[i] - expected[i]));
      // Both are f64: an exponential and a sum of at most 1000 terms, one rounding of 2^-53 each, and logits up to 1e4
      // whose own rounding the exponential multiplies.
      EXPECT_NEAR(p[i], expected[i], 1e-12) << "token " << i;
    }
  }
  RecordProperty("largest_difference", fmt::format("{:.3g}", worst));
}

}  // namespace
}  // namespace tessera
