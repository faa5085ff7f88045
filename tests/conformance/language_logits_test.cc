// Logits and hidden states of tiny models of the real architectures, as transformers computes them in f32.
// Expected values, and what `noise` is: tests/data/checkpoints/README.md.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/infer/language_engine.h"
#include "tests/support/fixture.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string data(const std::string& path) { return std::string(TESSERA_TEST_DATA) + "/" + path; }

std::vector<std::int32_t> ids_of(const Tensor& t) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < t.count(); ++i)
    ids.push_back(t.dtype() == DType::kI64 ? static_cast<std::int32_t>(t.as<std::int64_t>()[i])
                                           : t.as<std::int32_t>()[i]);
  return ids;
}

std::vector<std::string> models_in(const std::string& folder, const std::string& file) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(data(folder))) {
    if (!fs::exists(entry.path() / file)) continue;
    const Json config = parse_json(read_file((entry.path() / "config.json").string()));
    const std::string name = config.find("architectures")->as_array()[0].as_string();
    for (const models::ModelFamily* family : models::all_families())
      for (const std::string_view known : family->architectures)
        if (known == name) found.push_back(folder + "/" + entry.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Two f32 implementations differ by about twice what one of them differs from f64 (`noise`): 16 times that is allowed,
// and 1e-5 where the noise was measured as nearly nothing.
double tolerance(const Json& noise) { return 16 * noise.as_double() + 1e-5; }

double largest_difference(std::span<const float> a, const Tensor& expected, std::int64_t row) {
  const auto width = static_cast<std::int64_t>(a.size());
  double largest = 0;
  for (std::int64_t i = 0; i < width; ++i)
    largest = std::max(largest,
                       std::fabs(double{a[static_cast<std::size_t>(i)]} - element_as_float(expected, row * width + i)));
  return largest;
}

class Bf16Model : public testing::TestWithParam<std::string> {};
class QuantizedModel : public testing::TestWithParam<std::string> {};

std::string test_name(const testing::TestParamInfo<std::string>& model) {
  std::string name = fs::path(model.param).filename().string();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

TEST_P(Bf16Model, GivesTheLogitsAndHiddenStatesOfTheReference) {
  Stream stream(kCpu, 2);
  const Checkpoint checkpoint = Checkpoint::open(data(GetParam()));
  LanguageEngine engine(stream, checkpoint, {.compute = DType::kF32, .hidden = models::HiddenStates::kAll});
  const test::Fixture expected = test::read_fixture(GetParam() + "/reference.safetensors");
  const Json reference = parse_json(read_file(data(GetParam() + "/reference.json")));
  for (const auto& [prompt, noise] : reference.find("noise")->as_object()) {
    const Tensor& logits = expected.at(prompt + ".f32.logits");
    const std::vector<std::int32_t> ids = ids_of(expected.at(prompt + ".ids"));
    const double allowed = tolerance(*noise.find("f32_minus_f64"));
    Sequence sequence = engine.start();
    std::int64_t seen = 0;
    engine.read(sequence, ids, Wanted::kAll, [&](std::int64_t token, std::span<const float> row) {
      EXPECT_LE(largest_difference(row, logits, token), allowed) << prompt << " token " << token;
      ++seen;
    });
    EXPECT_EQ(seen, static_cast<std::int64_t>(ids.size()));
    for (std::int64_t layer = 0; layer <= engine.shape().layers; ++layer) {
      const std::string name = layer == 0                       ? "embed_tokens.out"
                               : layer == engine.shape().layers ? "norm.out"
                                                                : fmt::format("layers.{}.out", layer - 1);
      const std::string tensor = fmt::format("{}.f32.{}", prompt, name);
      if (!expected.has(tensor)) continue;  // of the longest prompt the fixture keeps the last one only
      const Tensor hidden = engine.hidden(layer);
      const auto width = static_cast<std::size_t>(hidden.extent().cols);
      for (std::size_t token = 0; token < ids.size(); ++token)
        EXPECT_LE(largest_difference({hidden.as<float>() + token * width, width}, expected.at(tensor),
                                     static_cast<std::int64_t>(token)),
                  allowed)
            << prompt << " " << name << " token " << token;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Models, Bf16Model, testing::ValuesIn(models_in("checkpoints/bf16", "reference.safetensors")),
                         test_name);

// w: the checkpoint's own weights, activations in f32.
TEST_P(QuantizedModel, GivesTheLogitsOfItsDequantizedWeights) {
  Stream stream(kCpu, 2);
  const Checkpoint checkpoint = Checkpoint::open(data(GetParam()));
  LanguageEngine engine(stream, checkpoint, {.compute = DType::kF32});
  const test::Fixture expected = test::read_fixture(GetParam() + "/expected.safetensors");
  const Json facts = parse_json(read_file(data(GetParam() + "/expected.json")));
  for (const auto& [prompt, noise] : facts.find("noise")->as_object()) {
    const Tensor& logits = expected.at(prompt + ".w.logits");
    Sequence sequence = engine.start();
    engine.read(sequence, ids_of(expected.at(prompt + ".ids")), Wanted::kAll,
                [&](std::int64_t token, std::span<const float> row) {
                  EXPECT_LE(largest_difference(row, logits, token), tolerance(noise)) << prompt << " token " << token;
                });
  }
}
INSTANTIATE_TEST_SUITE_P(Models, QuantizedModel,
                         testing::ValuesIn(models_in("checkpoints/quantized", "expected.safetensors")), test_name);

// In bf16 the roundings of an implementation are its own: twice what the reference's own bf16 differs from its f32.
TEST_P(Bf16Model, GivesLogitsInBf16AsNearAsTheReferences) {
  Stream stream(kCpu, 2);
  const Checkpoint checkpoint = Checkpoint::open(data(GetParam()));
  LanguageEngine engine(stream, checkpoint, {.compute = DType::kBf16});
  const test::Fixture expected = test::read_fixture(GetParam() + "/reference.safetensors");
  const Json reference = parse_json(read_file(data(GetParam() + "/reference.json")));
  for (const auto& [prompt, noise] : reference.find("noise")->as_object()) {
    const double allowed = 2 * noise.find("bf16_minus_f32")->as_double();
    Sequence sequence = engine.start();
    engine.read(sequence, ids_of(expected.at(prompt + ".ids")), Wanted::kAll,
                [&](std::int64_t token, std::span<const float> row) {
                  EXPECT_LE(largest_difference(row, expected.at(prompt + ".f32.logits"), token), allowed)
                      << prompt << " token " << token;
                });
  }
}

}  // namespace
}  // namespace tessera
