// Scales of activations: one number, in any shape of one, that keeps its sense.
#include <gtest/gtest.h>

#include "tessera/weights/convert_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kModule = "model.layers.0.self_attn.o_proj";

// huggingface/transformers#42746: Devstral's activation_scale was read in the other sense, and the model repeated
// itself. It multiplies codes, under each of its names.
TEST(ActivationScales, OfMistralMultiply) {
  for (const auto& [weight, activation] :
       {std::pair<std::string, std::string>{"weight_scale_inv", "activation_scale"}, {"qscale_weight", "qscale_act"}}) {
    const test::TemporaryFolder folder;
    const Checkpoint model = Checkpoint::open(ModelBuilder()
                                                  .bytes(kModule + ".weight", DType::kF8E4M3, {4, 32}, {test::kOne})
                                                  .numbers(kModule + "." + weight, DType::kBf16, {}, {0.5f})
                                                  .numbers(kModule + "." + activation, DType::kBf16, {}, {0.125f})
                                                  .write(folder / "model"));
    model.require_usable();
    Stream stream(kCpu, 1);
    convert_checkpoint(stream, model, folder / "mo", {.dialect = &find_dialect("modelopt")});
    const Checkpoint mo = Checkpoint::open(folder / "mo");
    mo.require_usable();
    EXPECT_EQ(element_as_float(mo.load_tensor(*mo.container().find(kModule + ".input_scale")), 0), 0.125f);
    EXPECT_EQ(test::values_of(mo, kModule), std::vector<float>(128, 0.5f));
  }
}

// sgl-project/sglang#19587: an engine's parameter had another shape than the file's input_scale.
TEST(ActivationScales, HaveAnyShapeOfOne) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}}) {
    const test::TemporaryFolder folder;
    ModelBuilder b;
    test::add_mo_nvfp4(b, kModule, 0.25f).numbers(kModule + ".input_scale", DType::kF32, shape, {0.125f});
    const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
    model.require_usable();
    ASSERT_TRUE(model.find(kModule)->activation);
    EXPECT_EQ(model.find(kModule)->activation->bits, 0.125f);
  }
}

// FlashML-org/FreeToken#390: a loader's table of kinds had no input_global_scale. It is a scale of activations in the
// other sense, and says nothing of weights.
TEST(ActivationScales, OfCompressedTensorsDivide) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_ct_nvfp4(b, kModule, 8).numbers(kModule + ".input_global_scale", DType::kF32, {1}, {64});
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  Stream stream(kCpu, 1);
  convert_checkpoint(stream, model, folder / "mo", {.dialect = &find_dialect("modelopt")});
  const Checkpoint mo = Checkpoint::open(folder / "mo");
  EXPECT_EQ(element_as_float(mo.load_tensor(*mo.container().find(kModule + ".input_scale")), 0), 1.f / 64);
  EXPECT_EQ(test::values_of(mo, kModule), std::vector<float>(32, 0.25f));
}

}  // namespace
}  // namespace tessera
