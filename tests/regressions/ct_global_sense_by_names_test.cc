// compressed-tensors divides by its global, ModelOpt multiplies: the tensors' names say which, no file beside them
// does.
#include <gtest/gtest.h>

#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

// kekzl/imp#1433: exports without recipe.yaml were read as ModelOpt's. Here there is no configuration at all.
TEST(CtGlobalSense, FollowsFromNamesWithoutAnyConfiguration) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_ct_nvfp4(b, "m.up_proj", 8).write(folder / "model");
  const Checkpoint model = Checkpoint::open(folder / "model");
  model.require_usable();
  EXPECT_EQ(model.find("m.up_proj")->reading.dialect->name, "compressed-tensors");
  EXPECT_EQ(test::values_of(model, "m.up_proj"), std::vector<float>(32, 2.f / 8));
}

// The same: recipe.yaml is a record of a run, whatever it says.
TEST(CtGlobalSense, IgnoresTheRecordOfARun) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_mo_nvfp4(b, "m.up_proj", 8)
      .file("recipe.yaml", "quant_stage:\n  quant_modifiers: {QuantizationModifier: {}}\n");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  EXPECT_EQ(test::values_of(model, "m.up_proj"), std::vector<float>(32, 2.f * 8));
  EXPECT_TRUE(model.warnings().empty());
}

// FlashML-org/FreeToken#390: a re-export by ModelOpt carries the other dialect's `format`; trusting it inverts globals.
TEST(CtGlobalSense, IgnoresAFormatKeyInAReexport) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_mo_nvfp4(b, "m.up_proj", 8)
      .file(
          "config.json",
          R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "format": "nvfp4-pack-quantized"}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  EXPECT_EQ(model.find("m.up_proj")->reading.dialect->name, "modelopt");
  EXPECT_EQ(test::values_of(model, "m.up_proj"), std::vector<float>(32, 2.f * 8));
}

// FreeToken#430: only `weight_scale`, the name that both dialects share, was loaded of an expert.
TEST(CtGlobalSense, TakesTheWholeSetOfAnExpert) {
  const test::TemporaryFolder folder;
  const std::string m = "model.layers.1.mlp.experts.0.up_proj";
  ModelBuilder b;
  test::add_ct_nvfp4(b, m, 8).numbers(m + ".input_global_scale", DType::kF32, {1}, {32});
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  const Module& module = *model.find(m);
  EXPECT_EQ(test::values_of(model, m), std::vector<float>(32, 2.f / 8));
  ASSERT_TRUE(module.activation);
  EXPECT_EQ(module.activation->bits, 32);
  EXPECT_EQ(module.activation->sense, Sense::kDivide);
  EXPECT_EQ(module.bytes(), 2 * 8 + 2 + 4 + 4u);
}

// huggingface/transformers names its decode multiplier weight_global_scale too, beside weight_scale_inv. Whoever reads
// that as compressed-tensors divides where it multiplies (spec 1.3).
TEST(CtGlobalSense, TheSameNameMultipliesBesideWeightScaleInv) {
  const test::TemporaryFolder folder;
  const ModelBuilder b = ModelBuilder()
                             .bytes("m.up_proj.weight", DType::kI8, {2, 8}, {test::kOnes})
                             .bytes("m.up_proj.weight_scale_inv", DType::kF8E4M3, {2, 1}, {test::kTwo})
                             .numbers("m.up_proj.weight_global_scale", DType::kF32, {}, {8});
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  EXPECT_EQ(test::values_of(model, "m.up_proj"), std::vector<float>(32, 2.f * 8));
}

// Its unpacked form under ModelOpt's names is nobody's: neither sense is certain (spec 4.3, row 8).
TEST(CtGlobalSense, RefusesTheSameNameBesideWeightScale) {
  const test::TemporaryFolder folder;
  const ModelBuilder b = ModelBuilder()
                             .bytes("m.up_proj.weight", DType::kU8, {2, 8}, {test::kOnes})
                             .bytes("m.up_proj.weight_scale", DType::kF8E4M3, {2, 1}, {test::kTwo})
                             .numbers("m.up_proj.weight_global_scale", DType::kF32, {}, {8});
  const Error e = test::refusal_of(b.write(folder / "model"));
  EXPECT_TRUE(test::has(e.message(), "m.up_proj")) << e.what();
}

}  // namespace
}  // namespace tessera
