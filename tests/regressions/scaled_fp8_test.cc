// Single files of diffusion models in FP8: the scale's name, shape and neighbours vary from release to release.
#include <gtest/gtest.h>

#include "tessera/weights/dequantize_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kBlock = "model.diffusion_model.blocks.0.";

// Comfy-Org/ComfyUI#11068, #11128, #13239, #12582, #11635: a marker under a prefix or none at all, a scale of one axis,
// E5M2, an input scale of 1, a weight without a scale among others. Each broke a release of some loader.
TEST(ScaledFp8, IsReadInEveryForm) {
  for (const std::string marker : {"scaled_fp8", "model.diffusion_model.scaled_fp8", ""})
    for (const DType codes : {DType::kF8E4M3, DType::kF8E5M2})
      for (const Shape& shape : {Shape{}, Shape{1}}) {
        const test::TemporaryFolder folder;
        const std::uint8_t one = codes == DType::kF8E4M3 ? test::kOne : 0x3c;
        ModelBuilder b;
        b.bytes(kBlock + "q.weight", codes, {4, 32}, {one})
            .numbers(kBlock + "q.scale_weight", DType::kF32, shape, {0x1p-9f})
            .numbers(kBlock + "q.scale_input", DType::kF32, shape, {1})
            .numbers(kBlock + "q.bias", DType::kBf16, {4}, {1})
            .bytes(kBlock + "k.weight", codes, {4, 32}, {one});
        if (!marker.empty()) b.bytes(marker, codes, {2}, {0});
        b.write(folder / "model");
        const Checkpoint model = Checkpoint::open(folder / "model/model.safetensors");
        model.require_usable();
        EXPECT_TRUE(model.problems().empty());
        EXPECT_EQ(test::values_of(model, kBlock + "q"), std::vector<float>(128, 0x1p-9f));
        EXPECT_EQ(test::values_of(model, kBlock + "k"), std::vector<float>(128, 1.f)) << "a plain cast";
      }
}

// Lightricks/LTX-2#181: an FP8 weight was given the transposed shape. It stands as it multiplies: [out, in].
TEST(ScaledFp8, OfLtx2StandsAsItMultiplies) {
  const test::TemporaryFolder folder;
  const std::string m = "model.diffusion_model.transformer_blocks.0.ff.net.0.proj";
  std::vector<std::uint8_t> codes(3 * 8, test::kOne);
  codes[1 * 8 + 2] = test::kTwo;
  ModelBuilder()
      .bytes(m + ".weight", DType::kF8E4M3, {3, 8}, codes)
      .numbers(m + ".weight_scale", DType::kF32, {}, {0x1p-10f})
      .numbers(m + ".input_scale", DType::kF32, {}, {0x1p-5f})
      .write(folder / "model");
  const Checkpoint model = Checkpoint::open(folder / "model/model.safetensors");
  model.require_usable();
  EXPECT_EQ(model.find(m)->reading.dialect->name, "ltx2");
  EXPECT_EQ(model.find(m)->reading.extent, (Extent{3, 8}));
  EXPECT_EQ(test::values_of(model, m)[1 * 8 + 2], 0x1p-9f);
}

// axolotl-ai-cloud/axolotl#3771, modelscope/ms-swift#7907, hiyouga/LlamaFactory#10328, Lightning-AI/litgpt#513: an
// adapter was added to raw codes. What is merged into is dequantized first, and no code is left in that file.
TEST(ScaledFp8, LeavesNoCodesWhenItIsDequantized) {
  const test::TemporaryFolder folder;
  ModelBuilder()
      .bytes(kBlock + "q.weight", DType::kF8E4M3, {4, 32}, {test::kOne})
      .numbers(kBlock + "q.scale_weight", DType::kF32, {}, {0x1p-9f})
      .bytes("scaled_fp8", DType::kF8E4M3, {2}, {0})
      .write(folder / "model");
  Stream stream(kCpu, 1);
  dequantize_checkpoint(stream, Checkpoint::open(folder / "model/model.safetensors"), folder / "dense", {});
  const Checkpoint dense = Checkpoint::open(folder / "dense");
  ASSERT_EQ(dense.container().tensors().size(), 1u);
  EXPECT_EQ(dense.container().tensors()[0].type, "BF16");
  EXPECT_EQ(test::values_of(dense, kBlock + "q"), std::vector<float>(128, 0x1p-9f));
}

}  // namespace
}  // namespace tessera
