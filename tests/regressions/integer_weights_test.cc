// Weights of packed integers are no floats of 4 or 8 bits: they are refused by name, not ignored and not decoded.
#include <gtest/gtest.h>

#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kModule = "model.layers.0.self_attn.q_proj";

void expect_named(const ModelBuilder& b, const std::string& tensor) {
  const test::TemporaryFolder folder;
  const Error e = test::refusal_of(b.write(folder / "model"));
  EXPECT_EQ(e.code(), Errc::kUnsupported);
  EXPECT_EQ(e.tensor(), tensor);
  EXPECT_TRUE(test::has(e.message(), "integers")) << e.what();
}

// FlashML-org/FreeToken#396: AWQ and int4 files ended in an error about something else.
TEST(IntegerWeights, OfAwqAndGptqAreNamed) {
  expect_named(ModelBuilder()
                   .bytes(kModule + ".qweight", DType::kI32, {32, 4}, {1})
                   .bytes(kModule + ".qzeros", DType::kI32, {1, 4}, {1})
                   .numbers(kModule + ".scales", DType::kF16, {1, 32}, {1})
                   .file("config.json", R"({"quantization_config": {"quant_method": "awq", "bits": 4}})"),
               kModule + ".qweight");
}

TEST(IntegerWeights, OfCompressedTensorsAreNamed) {
  expect_named(ModelBuilder()
                   .bytes(kModule + ".weight_packed", DType::kI32, {8, 4}, {1})
                   .numbers(kModule + ".weight_scale", DType::kBf16, {8, 1}, {1})
                   .bytes(kModule + ".weight_shape", DType::kI64, {2}, {0}),
               kModule + ".weight_packed");
}

// MLX's affine modes look like its floating ones but for the scales.
TEST(IntegerWeights, OfMlxAreNamed) {
  expect_named(ModelBuilder()
                   .bytes(kModule + ".weight", DType::kU32, {8, 4}, {1})
                   .numbers(kModule + ".scales", DType::kBf16, {8, 1}, {1})
                   .numbers(kModule + ".biases", DType::kBf16, {8, 1}, {1}),
               kModule);
}

}  // namespace
}  // namespace tessera
