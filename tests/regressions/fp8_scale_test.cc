// FP8 weights are codes times scales: read, dequantized and converted with them.
#include <gtest/gtest.h>

#include "tessera/weights/convert_checkpoint.h"
#include "tessera/weights/dequantize_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kModule = "model.layers.0.mlp.up_proj";

// Lightricks/LTX-2#172 ignored weight_scale; Comfy-Org/ComfyUI#11665 knew no scale in bf16.
TEST(Fp8Scales, MultiplyInAnyDtype) {
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}}) {
      const test::TemporaryFolder folder;
      ModelBuilder b;
      test::add_fp8(b, kModule, dtype, shape, 0x1.4p-10f);
      EXPECT_EQ(test::values_of(Checkpoint::open(b.write(folder / "model")), kModule),
                std::vector<float>(128, 0x1.4p-10f));
    }
  }
}

// unslothai/unsloth-zoo#803: codes were passed on as values. Without a scale beside them they have none.
TEST(Fp8Scales, AreNotAssumed) {
  const test::TemporaryFolder folder;
  const ModelBuilder b = ModelBuilder().bytes(kModule + ".weight", DType::kF8E4M3, {4, 32}, {test::kOne});
  const Error e = test::refusal_of(b.write(folder / "model"));
  EXPECT_EQ(e.code(), Errc::kCorrupt);
  EXPECT_TRUE(test::has(e.message(), kModule + ".weight_scale") && test::has(e.message(), "missing")) << e.what();
}

// unsloth-zoo#803, unslothai/unsloth#4919: raw codes in the merged file, and products in the dtype of the scale.
// 1.5 * (1 + 2^-8) lies three quarters of the way to bf16's next number; with the scale rounded to bf16 first it
// is 1.5.
TEST(Fp8Scales, MultiplyInF32AndAreRoundedOnce) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  b.bytes(kModule + ".weight", DType::kF8E4M3, {4, 32}, {0x3c})
      .numbers(kModule + ".weight_scale", DType::kF32, {}, {1 + 0x1p-8f})
      .file("config.json",
            R"({"model_type": "llama", "quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}})")
      .file("hf_quant_config.json", R"({"quantization": {"quant_algo": "FP8"}})")
      .write(folder / "model");
  Stream stream(kCpu, 1);
  dequantize_checkpoint(stream, Checkpoint::open(folder / "model"), folder / "dense", {});
  const Checkpoint dense = Checkpoint::open(folder / "dense");
  EXPECT_EQ(test::values_of(dense, kModule), std::vector<float>(128, 1.5f + 0x1p-7f));
  EXPECT_EQ(dense.container().tensors().size(), 1u);
  // huggingface/transformers#44983: what is saved after dequantizing declares nothing any more.
  EXPECT_EQ(dense.declared(), nullptr);
  EXPECT_TRUE(dense.config().sidecar.is_null());
}

// TensorRT-LLM#13716 renamed every weight_scale to weight_scale_inv, NVFP4's too. A dialect that has no NVFP4 refuses
// it by name; --requantize makes other codes of it, with their own scales.
TEST(Fp8Scales, AreRenamedByFormat) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_mo_nvfp4(b, kModule, 0.25f, 128, 128);
  b.bytes("lm_head.weight", DType::kF8E4M3, {128, 128}, {test::kOne})
      .numbers("lm_head.weight_scale", DType::kF32, {}, {0.5f});
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  Stream stream(kCpu, 1);
  const Dialect& target = find_dialect("fp8-block");
  const Error e = test::error_of([&] { convert_checkpoint(stream, model, folder / "out", {.dialect = &target}); });
  EXPECT_EQ(e.code(), Errc::kUnsupported);
  EXPECT_TRUE(test::has(e.message(), "nvfp4") && test::has(e.message(), kModule)) << e.what();
  convert_checkpoint(stream, model, folder / "out", {.dialect = &target, .requantize = true});
  const Checkpoint out = Checkpoint::open(folder / "out", {.strict = true});
  out.require_usable();
  for (const std::string& m : {kModule, std::string("lm_head")})
    EXPECT_EQ(test::values_of(out, m), std::vector<float>(128 * 128, 0.5f)) << m;
}

// NVIDIA/TensorRT-Model-Connect#1115: 1000 rows under 8 scales are blocks of 128 with a partial one last, not of 125.
TEST(Fp8Scales, OfPartialBlocksCountInWholeBlocks) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  b.bytes(kModule + ".weight", DType::kF8E4M3, {1000, 128}, {test::kOne})
      .numbers(kModule + ".weight_scale_inv", DType::kF32, {8, 1}, {1, 2, 3, 4, 5, 6, 7, 8})
      .file("config.json", R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})");
  const std::vector<float> values = test::values_of(Checkpoint::open(b.write(folder / "model")), kModule);
  for (std::size_t row = 0; row < 1000; ++row) ASSERT_EQ(values[row * 128], static_cast<float>(1 + row / 128)) << row;
}

// huggingface/transformers#37250: save and reload changed FP8 weights. A model converted to its own dialect is itself.
TEST(Fp8Scales, SurviveSavingAgain) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  b.bytes(kModule + ".weight", DType::kF8E4M3, {256, 128}, {0x3c})
      .numbers(kModule + ".weight_scale_inv", DType::kBf16, {2, 1}, {0.5f, 3})
      .file("config.json", R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})")
      .write(folder / "model");
  const Checkpoint model = Checkpoint::open(folder / "model");
  Stream stream(kCpu, 1);
  convert_checkpoint(stream, model, folder / "again", {.dialect = &find_dialect("fp8-block")});
  const Checkpoint again = Checkpoint::open(folder / "again", {.strict = true});
  for (const StoredTensor& t : model.container().tensors()) {
    const StoredTensor* other = again.container().find(t.name);
    ASSERT_NE(other, nullptr) << t.name;
    EXPECT_EQ(other->type, t.type);
    EXPECT_EQ(again.container().read_all(*other), model.container().read_all(t)) << t.name;
  }
}

// A weight of no rows has its one scale all the same, and goes wherever the others go.
TEST(Fp8Scales, OfNoRowsAreOne) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_fp8(b, "m.up_proj", DType::kF32, {}, 0.5f);
  b.bytes(kModule + ".weight", DType::kF8E4M3, {0, 32}, {}).numbers(kModule + ".weight_scale", DType::kF32, {}, {0.5f});
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  EXPECT_EQ(model.find(kModule)->reading.format.name, "fp8");
  EXPECT_EQ(model.find(kModule)->reading.extent, (Extent{0, 32}));
  EXPECT_TRUE(test::values_of(model, kModule).empty());
  Stream stream(kCpu, 1);
  for (const std::string target : {"modelopt", "compressed-tensors"}) {
    convert_checkpoint(stream, model, folder / target, {.dialect = &find_dialect(target)});
    const Checkpoint other = Checkpoint::open(folder / target, {.strict = true});
    other.require_usable();
    EXPECT_EQ(other.find(kModule)->reading.extent, (Extent{0, 32})) << target;
    EXPECT_EQ(element_as_float(other.load_tensor(*other.find(kModule)->scales), 0), 0.5f) << target;
  }
}

}  // namespace
}  // namespace tessera
