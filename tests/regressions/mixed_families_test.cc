// Public mixture-of-experts checkpoints whose parts are quantized each in its own way (spec/moe-engine.md 3.9 and 9).
#include <gtest/gtest.h>

#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kLayer = "model.layers.0.";

// FlashML-org/FreeToken#164, #183, #294: NVFP4 experts beside an FP8 shared expert, under quant_method modelopt_mixed.
TEST(MixedFamilies, MayHaveAnFp8SharedExpert) {
  const test::TemporaryFolder folder;
  const std::string shared = kLayer + "mlp.shared_expert.up_proj", expert = kLayer + "mlp.experts.0.up_proj";
  ModelBuilder b;
  test::add_fp8(b, shared, DType::kF32, {}, 0.5f).numbers(shared + ".input_scale", DType::kF32, {}, {0.125f});
  test::add_mo_nvfp4(b, expert, 0.25f);
  b.file("config.json", R"({"quantization_config": {"quant_method": "modelopt_mixed", "quant_algo": "MIXED_PRECISION",
    "quantized_layers": {"model.layers.0.mlp.shared_expert.up_proj": {"quant_algo": "FP8"},
                         "model.layers.0.mlp.experts": {"quant_algo": "NVFP4", "group_size": 16}}}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"), {.strict = true});
  model.require_usable();
  EXPECT_EQ(test::values_of(model, shared), std::vector<float>(128, 0.5f));
  EXPECT_EQ(test::values_of(model, expert), std::vector<float>(32, 0.5f));
}

// FreeToken#206: "incomplete fp8 fusions", as a weight and its scale stood in different shards.
TEST(MixedFamilies, FindFp8ScalesInAnotherShard) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  b.bytes(kLayer + "self_attn.q_proj.weight", DType::kF8E4M3, {128, 256}, {test::kOne})
      .next_shard()
      .numbers(kLayer + "self_attn.q_proj.weight_scale_inv", DType::kBf16, {1, 2}, {0.5f, 2});
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  const std::vector<float> values = test::values_of(model, kLayer + "self_attn.q_proj");
  EXPECT_EQ(values[127], 0.5f);
  EXPECT_EQ(values[128], 2.f);
}

// FreeToken#252, #492, #493: scales per row, [N, 1], of attention and head; FP8 head; scales of the KV cache.
TEST(MixedFamilies, MayHaveARowScaledHead) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  for (const std::string& m : {kLayer + "self_attn.q_proj", std::string("lm_head")})
    b.bytes(m + ".weight", DType::kF8E4M3, {2, 32}, {test::kOne})
        .numbers(m + ".weight_scale", DType::kBf16, {2, 1}, {0.5f, 2});
  b.numbers(kLayer + "self_attn.k_scale", DType::kBf16, {1}, {0.5f})
      .numbers(kLayer + "self_attn.v_scale", DType::kBf16, {1}, {0.25f});
  test::add_ct_nvfp4(b, kLayer + "mlp.experts.0.up_proj", 8);
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  EXPECT_TRUE(model.problems().empty());
  for (const std::string& m : {kLayer + "self_attn.q_proj", std::string("lm_head")}) {
    EXPECT_EQ(model.find(m)->reading.format.name, "fp8_channel");
    EXPECT_EQ(test::values_of(model, m)[31], 0.5f);
    EXPECT_EQ(test::values_of(model, m)[32], 2.f);
  }
}

// FreeToken#263, #296, #381: block FP8 under compressed-tensors' name for its scales, and another prefix.
TEST(MixedFamilies, MayHaveBlockScalesUnderAnotherNameAndPrefix) {
  for (const std::string prefix : {"language_model.model.", "model.language_model.", "model."}) {
    const test::TemporaryFolder folder;
    const std::string attention = prefix + "layers.3.self_attn.q_proj",
                      expert = prefix + "layers.3.mlp.experts.0.up_proj";
    ModelBuilder b;
    b.bytes(attention + ".weight", DType::kF8E4M3, {256, 128}, {test::kOne})
        .numbers(attention + ".weight_scale", DType::kBf16, {2, 1}, {0.5f, 2})
        .file("config.json", R"({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {
          "group_0": {"targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float", "strategy": "block",
                      "block_structure": [128, 128]}},
          "group_1": {"targets": ["re:.*experts.*"], "weights": {"num_bits": 4, "type": "float",
                      "strategy": "tensor_group", "group_size": 16}}}}})");
    test::add_ct_nvfp4(b, expert, 8);
    const Checkpoint model = Checkpoint::open(b.write(folder / "model"), {.strict = true});
    model.require_usable();
    EXPECT_EQ(test::values_of(model, attention)[127 * 128], 0.5f) << prefix;
    EXPECT_EQ(test::values_of(model, attention)[128 * 128], 2.f) << prefix;
    EXPECT_EQ(test::values_of(model, expert), std::vector<float>(32, 0.25f)) << prefix;
  }
}

// vllm-project/vllm#32101, #31757: layers of the multi-token predictor lost their scales to a rule about names. spec 9,
// "27B": projections of a gated delta net are quantized in some exports. Every weight is a module, whatever it is
// called.
TEST(MixedFamilies, MayQuantizeWhatOthersLeaveDense) {
  for (const std::string m : {"mtp.layers.0.mlp.up_proj", "model.layers.61.eh_proj", "mtp.fc",
                              "model.layers.0.linear_attn.in_proj_b", "model.layers.0.linear_attn.in_proj_qkv"}) {
    const test::TemporaryFolder folder;
    ModelBuilder mo, ct;
    const Checkpoint a = Checkpoint::open(test::add_mo_nvfp4(mo, m, 0.25f).write(folder / "mo"));
    const Checkpoint b = Checkpoint::open(test::add_ct_nvfp4(ct, m, 4).write(folder / "ct"));
    for (const Checkpoint* model : {&a, &b}) {
      model->require_usable();
      EXPECT_EQ(test::values_of(*model, m), std::vector<float>(32, 0.5f)) << m;
    }
  }
}

}  // namespace
}  // namespace tessera
