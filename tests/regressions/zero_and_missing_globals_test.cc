// Dead experts: weights and calibration maxima of zero, and the infinities, zeros and NaNs that exporters made of them.
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/weights/convert_checkpoint.h"
#include "tessera/weights/quantize_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kModule = "model.layers.0.mlp.experts.0.up_proj";

Checkpoint open_with_global(const std::string& folder, float global, std::uint8_t codes) {
  ModelBuilder b;
  return Checkpoint::open(test::add_ct_nvfp4(b, kModule, global, 2, 16, codes).write(folder));
}

// vllm-project/compressed-tensors#595: a dead expert's global is infinite, and every weight became NaN.
TEST(ZeroWeights, ReadAsZerosUnderAnInfiniteOrZeroGlobal) {
  for (const float global : {kInfinity, 0.f}) {
    const test::TemporaryFolder folder;
    const Checkpoint model = open_with_global(folder / "model", global, 0);
    model.require_usable();
    EXPECT_EQ(test::values_of(model, kModule), std::vector<float>(32, 0.f));
    ASSERT_EQ(model.problems().size(), 1u);
    EXPECT_TRUE(model.problems()[0].harmless);
    EXPECT_EQ(model.problems()[0].tensor, kModule + ".weight_global_scale");
  }
}

// vllm-project/vllm#45320, #54444, #32080, #31782: such globals over weights that are not zero are damage.
TEST(ZeroWeights, AreNotAssumedUnderADamagedGlobal) {
  for (const float global : {kInfinity, 0.f, std::nanf(""), -8.f}) {
    const test::TemporaryFolder folder;
    ModelBuilder b;
    const Error e = test::refusal_of(test::add_ct_nvfp4(b, kModule, global).write(folder / "model"));
    EXPECT_EQ(e.code(), Errc::kCorrupt);
    EXPECT_EQ(e.tensor(), kModule + ".weight_global_scale");
  }
}

// vllm#54444: a scale that is absent was taken as whatever the memory held.
TEST(MissingGlobals, AreRefusedByName) {
  const test::TemporaryFolder folder;
  const ModelBuilder ct = ModelBuilder()
                              .bytes(kModule + ".weight_packed", DType::kU8, {2, 8}, {test::kOnes})
                              .bytes(kModule + ".weight_scale", DType::kF8E4M3, {2, 1}, {test::kTwo});
  const Error e = test::refusal_of(ct.write(folder / "ct"));
  EXPECT_EQ(e.code(), Errc::kCorrupt);
  EXPECT_TRUE(test::has(e.message(), kModule + ".weight_global_scale is missing")) << e.what();
  const ModelBuilder mo = ModelBuilder()
                              .bytes(kModule + ".weight", DType::kU8, {2, 8}, {test::kOnes})
                              .bytes(kModule + ".weight_scale", DType::kF8E4M3, {2, 1}, {test::kTwo});
  EXPECT_TRUE(test::has(test::refusal_of(mo.write(folder / "mo")).message(), kModule + ".weight_scale_2 is missing"));
}

// compressed-tensors#595 from the writing side: no writer, in no dialect, leaves a scale that readers choke on.
TEST(ZeroWeights, QuantizeToScalesThatReadersTake) {
  const test::TemporaryFolder folder;
  ModelBuilder()
      .numbers(kModule + ".weight", DType::kBf16, {128, 128}, {0})
      .numbers("model.layers.0.mlp.experts.1.up_proj.weight", DType::kBf16, {128, 128}, {0.5f})
      .numbers("model.layers.0.mlp.experts.2.up_proj.weight", DType::kBf16, {128, 128}, {0x1p-133f})  // the least bf16
      .file("config.json", R"({"model_type": "llama"})")
      .write(folder / "dense");
  const Checkpoint dense = Checkpoint::open(folder / "dense");
  Stream stream(kCpu, 1);
  int cases = 0;
  for (const Dialect* dialect : all_dialects()) {
    for (const Format* format : all_formats()) {
      const Spelling* spelling = find_spelling(*dialect, *format);
      // Banks hold the experts of all projections; these three weights are no whole bank.
      if (format->is_dense() || dialect->write_declaration == nullptr || spelling == nullptr || spelling->glued)
        continue;
      for (const Writer* writer : all_writers()) {
        if (!writer->supports(*format)) continue;
        const std::string out = folder / std::to_string(cases++),
                          what = fmt::format("{} {} {}", dialect->name, format->name, writer->name);
        quantize_checkpoint(stream, dense, out,
                            {.recipe = Recipe::plain(*format), .dialect = dialect, .writer = writer});
        const Checkpoint model = Checkpoint::open(out);
        EXPECT_NO_THROW(model.require_usable()) << what;
        EXPECT_EQ(test::values_of(model, kModule), std::vector<float>(128 * 128, 0.f)) << what;
      }
    }
  }
  EXPECT_GT(cases, 30);
}

// compressed-tensors#595, the activation half; vllm#42601: the inverse of a subnormal input scale is infinite.
TEST(ActivationScales, ThatAreNoNumberMeanDynamic) {
  for (const float scale : {kInfinity, 0.f, std::nanf("")}) {
    const test::TemporaryFolder folder;
    ModelBuilder b;
    test::add_ct_nvfp4(b, kModule, 8).numbers(kModule + ".input_global_scale", DType::kF32, {1}, {scale});
    const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
    model.require_usable();
    EXPECT_FALSE(model.find(kModule)->activation);
    ASSERT_EQ(model.problems().size(), 1u);
    EXPECT_EQ(model.problems()[0].tensor, kModule + ".input_global_scale");
    EXPECT_TRUE(model.problems()[0].harmless);
  }
}

TEST(ActivationScales, OfSubnormalsStayFiniteInTheOtherSense) {
  const test::TemporaryFolder folder;
  constexpr float kTiny = 0x1p-140f;  // 1 / it is beyond the largest f32
  ModelBuilder b;
  test::add_mo_nvfp4(b, kModule, kTiny).numbers(kModule + ".input_scale", DType::kF32, {}, {kTiny});
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  Stream stream(kCpu, 1);
  convert_checkpoint(stream, model, folder / "ct", {.dialect = &find_dialect("compressed-tensors")});
  const Checkpoint ct = Checkpoint::open(folder / "ct");
  ct.require_usable();
  for (const std::string suffix : {".weight_global_scale", ".input_global_scale"})
    EXPECT_TRUE(is_finite(element_as_float(ct.load_tensor(*ct.container().find(kModule + suffix)), 0))) << suffix;
  convert_checkpoint(stream, ct, folder / "back", {.dialect = &find_dialect("modelopt")});
  const Checkpoint back = Checkpoint::open(folder / "back");
  for (const std::string suffix : {".weight_scale_2", ".input_scale"})
    EXPECT_EQ(element_as_float(back.load_tensor(*back.container().find(kModule + suffix)), 0), kTiny) << suffix;
}

// kekzl/imp#113: the reciprocal of a zero block scale is infinite, and 0 * infinity no number.
TEST(ZeroBlockScales, DecodeToZerosAndSurviveConversion) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  b.bytes(kModule + ".weight_packed", DType::kU8, {2, 8}, {test::kOnes})
      .bytes(kModule + ".weight_scale", DType::kF8E4M3, {2, 1}, {0x00, 0x80})  // zero, and minus zero
      .numbers(kModule + ".weight_global_scale", DType::kF32, {1}, {8});
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  EXPECT_EQ(test::values_of(model, kModule), std::vector<float>(32, 0.f));
  Stream stream(kCpu, 1);
  convert_checkpoint(stream, model, folder / "mo", {.dialect = &find_dialect("modelopt")});
  EXPECT_EQ(test::values_of(Checkpoint::open(folder / "mo"), kModule), std::vector<float>(32, 0.f));
}

}  // namespace
}  // namespace tessera
