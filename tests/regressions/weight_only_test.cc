// Weight-only checkpoints have no activation scale, and nobody may invent one.
#include <gtest/gtest.h>

#include "tessera/weights/convert_checkpoint.h"
#include "tessera/weights/quantize_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kModule = "model.layers.0.mlp.experts.0.up_proj";

bool names_an_input(const Checkpoint& model) {
  for (const StoredTensor& t : model.container().tensors())
    if (test::has(t.name, "input")) return true;
  return false;
}

// vllm-project/vllm#54189: an uninitialized input scale was folded into every expert of a weight-only checkpoint.
TEST(WeightOnly, StaysWithoutInputScalesThroughConversion) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_mo_nvfp4(b, kModule, 0.25f)
      .file("config.json", R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "W4A16_NVFP4"}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "mo"), {.strict = true});
  model.require_usable();
  EXPECT_EQ(model.find(kModule)->activation_scheme, ActivationScheme::kNone);
  Stream stream(kCpu, 1);
  convert_checkpoint(stream, model, folder / "ct", {.dialect = &find_dialect("compressed-tensors")});
  const Checkpoint ct = Checkpoint::open(folder / "ct", {.strict = true});
  ct.require_usable();
  EXPECT_FALSE(names_an_input(ct));
  EXPECT_EQ(ct.find(kModule)->activation_scheme, ActivationScheme::kNone);
  const Json* group = ct.config().quantization()->find("config_groups", "group_0");
  ASSERT_NE(group, nullptr);
  EXPECT_TRUE(group->find("input_activations")->is_null());
  EXPECT_EQ(test::values_of(ct, kModule), std::vector<float>(32, 0.5f));
}

TEST(WeightOnly, IsWhatQuantizeDeclares) {
  const test::TemporaryFolder folder;
  ModelBuilder()
      .numbers(kModule + ".weight", DType::kBf16, {32, 32}, {0.5f})
      .file("config.json", R"({"model_type": "llama"})")
      .write(folder / "dense");
  Stream stream(kCpu, 1);
  const Checkpoint dense = Checkpoint::open(folder / "dense");
  for (const std::string dialect : {"compressed-tensors", "modelopt"}) {
    quantize_checkpoint(stream, dense, folder / dialect,
                        {.recipe = Recipe::plain(find_format("nvfp4")), .dialect = &find_dialect(dialect)});
    const Checkpoint model = Checkpoint::open(folder / dialect, {.strict = true});
    model.require_usable();
    EXPECT_FALSE(names_an_input(model)) << dialect;
    EXPECT_EQ(model.find(kModule)->activation_scheme, ActivationScheme::kNone) << dialect;
  }
}

// NVIDIA/TensorRT-Model-Connect#390: a static scheme without its scale. It is dynamic or nothing, never a number.
TEST(WeightOnly, IsNotGivenAScaleByAStaticDeclaration) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_fp8(b, kModule, DType::kF32, {}, 0.5f)
      .file("config.json", R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  EXPECT_FALSE(model.find(kModule)->activation);
  EXPECT_NE(model.find(kModule)->activation_scheme, ActivationScheme::kStatic);
}

}  // namespace
}  // namespace tessera
