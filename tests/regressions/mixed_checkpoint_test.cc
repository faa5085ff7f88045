// FP8 beside NVFP4 in one checkpoint: each module is what its own tensors say.
#include <gtest/gtest.h>

#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kAttention = "model.layers.0.self_attn.q_proj";
const std::string kShared = "model.layers.0.mlp.shared_expert.up_proj";
std::string expert(int i) { return "model.layers.0.mlp.experts." + std::to_string(i) + ".up_proj"; }

ModelBuilder mixed(const std::string& top_format) {
  ModelBuilder b;
  test::add_fp8(b, kAttention, DType::kBf16, {4, 1}, 0.5f);
  test::add_fp8(b, kShared, DType::kBf16, {1}, 0.25f);
  for (int i = 0; i < 2; ++i) test::add_ct_nvfp4(b, expert(i), 8);
  b.file("config.json",
         R"({"num_experts": 2, "quantization_config": {"quant_method": "compressed-tensors", "format": ")" +
             top_format + R"(", "config_groups": {
    "group_0": {"targets": ["re:.*self_attn.*"], "format": "float-quantized", "weights": {"num_bits": 8, "type": "float", "strategy": "channel"},
                "input_activations": {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": true}},
    "group_1": {"targets": ["re:.*shared_expert\\..*"], "format": "naive-quantized", "weights": {"num_bits": 8, "type": "float", "strategy": "tensor"}},
    "group_2": {"targets": ["re:.*mlp\\.experts\\..*"], "format": null, "weights": {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}}}}})");
  return b;
}

// FreeToken#390: the top-level format was trusted for every module. #343: `mixed-precision` hid the NVFP4 experts.
// #344, #410, #492: experts went to the dense path, and per-channel FP8 attention was unknown there.
class TopFormat : public testing::TestWithParam<const char*> {};
TEST_P(TopFormat, DecidesNothing) {
  const test::TemporaryFolder folder;
  const Checkpoint model = Checkpoint::open(mixed(GetParam()).write(folder / "model"), {.strict = true});
  model.require_usable();
  EXPECT_TRUE(model.warnings().empty());
  EXPECT_EQ(model.find(kAttention)->reading.format.name, "fp8_channel");
  EXPECT_EQ(model.find(kAttention)->activation_scheme, ActivationScheme::kDynamic);
  EXPECT_EQ(model.find(kShared)->reading.format.name, "fp8");
  EXPECT_EQ(model.find(expert(1))->reading.format.name, "nvfp4");
  EXPECT_EQ(test::values_of(model, kAttention), std::vector<float>(128, 0.5f));
  EXPECT_EQ(test::values_of(model, kShared), std::vector<float>(128, 0.25f));
  EXPECT_EQ(test::values_of(model, expert(1)), std::vector<float>(32, 0.25f));
}
INSTANTIATE_TEST_SUITE_P(Formats, TopFormat,
                         testing::Values("mixed-precision", "nvfp4-pack-quantized", "float-quantized",
                                         "naive-quantized"),
                         [](const auto& format) {
                           std::string name = format.param;
                           std::erase(name, '-');
                           return name;
                         });

// FreeToken#274: the scales of a projection stand in another shard than its codes, under its own name.
TEST(MixedCheckpoint, FindsScalesInAnotherShard) {
  const test::TemporaryFolder folder;
  const ModelBuilder b = ModelBuilder()
                             .bytes(kShared + ".weight_packed", DType::kU8, {2, 8}, {test::kOnes})
                             .next_shard()
                             .bytes(kShared + ".weight_scale", DType::kF8E4M3, {2, 1}, {test::kTwo})
                             .next_shard()
                             .numbers(kShared + ".weight_global_scale", DType::kF32, {1}, {8});
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  EXPECT_EQ(test::values_of(model, kShared), std::vector<float>(32, 0.25f));
}

// FreeToken#263: the multimodal prefix hid every expert. The bank is complete, so a missing expert is named under it.
TEST(MixedCheckpoint, KnowsExpertsUnderAnyPrefix) {
  for (const std::string prefix : {"language_model.model.", "model.language_model."}) {
    const test::TemporaryFolder folder;
    ModelBuilder b;
    for (const int i : {0, 2})
      test::add_ct_nvfp4(b, prefix + "layers.0.mlp.experts." + std::to_string(i) + ".up_proj", 8);
    const Error e = test::refusal_of(b.write(folder / "model"));
    EXPECT_EQ(e.code(), Errc::kNotFound);
    EXPECT_TRUE(test::has(e.message(), prefix + "layers.0.mlp.experts.1.up_proj is missing")) << e.what();
  }
}

// NVIDIA/TensorRT-LLM#18666, #18393: MIXED_PRECISION by layer, with the container of the experts as one entry.
// sgl-project/sglang#37752: W4A16 experts in it have no activation scale.
TEST(MixedCheckpoint, ResolvesLayersAndContainersOfMixedPrecision) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_fp8(b, kAttention, DType::kF32, {}, 0.5f).numbers(kAttention + ".input_scale", DType::kF32, {}, {0.125f});
  for (int i = 0; i < 2; ++i) test::add_mo_nvfp4(b, expert(i), 0.25f);
  b.file("hf_quant_config.json", R"({"producer": {"name": "modelopt", "version": "0.47.0"}, "quantization": {
    "quant_algo": "MIXED_PRECISION", "quantized_layers": {"model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
    "model.layers.0.mlp.experts": {"quant_algo": "W4A16_NVFP4", "group_size": 16}}}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"), {.strict = true});
  model.require_usable();
  EXPECT_TRUE(model.warnings().empty());
  EXPECT_EQ(model.find(kAttention)->activation_scheme, ActivationScheme::kStatic);
  EXPECT_EQ(model.find(expert(0))->activation_scheme, ActivationScheme::kNone);
  EXPECT_EQ(test::values_of(model, expert(0)), std::vector<float>(32, 0.5f));
}

}  // namespace
}  // namespace tessera
