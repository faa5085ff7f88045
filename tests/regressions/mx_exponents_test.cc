// The shared exponents of MX blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tessera/kernels/quantize.h"
#include "tessera/weights/convert_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

Tensor row_of(const std::vector<float>& values) {
  Tensor x(DType::kF32, {1, static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), x.as<float>());
  return x;
}

// vllm-project/compressed-tensors#538, #541: the offset of 2 was applied twice and weights became four times too small.
// A block of E2M1's own numbers, times a power of two, comes back whole, under the byte of that power.
TEST(MxExponents, AreNotOffByTwo) {
  Stream stream(kCpu, 1);
  for (const int e : {-20, -3, 0, 4}) {
    std::vector<float> values;
    for (int i = 0; i < 32; ++i) values.push_back(decode(kE2M1, static_cast<std::uint32_t>(i % 8)) * pow2(e));
    for (const char* writer : {"compressed-tensors", "compressed-tensors-0.14", "modelopt", "nearest"}) {
      const QuantizedTensor q = quantize(stream, row_of(values), {find_format("mxfp4"), &find_writer(writer)});
      EXPECT_EQ(q.scales.as<std::uint8_t>()[0], 127 + e) << writer;
      const Tensor y = dequantize(stream, q);
      for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(y.as<float>()[i], values[i]) << writer << " " << i;
    }
  }
}

// compressed-tensors#809: releases before it list a global for MXFP4. It carries nothing when it is 1.
TEST(MxExponents, HaveNoGlobalBesideThem) {
  for (const float global : {1.f, 2.f}) {
    const test::TemporaryFolder folder;
    const ModelBuilder b = ModelBuilder()
                               .bytes("m.up_proj.weight_packed", DType::kU8, {2, 16}, {test::kOnes})
                               .bytes("m.up_proj.weight_scale", DType::kU8, {2, 1}, {test::kE8m0One + 1})
                               .numbers("m.up_proj.weight_global_scale", DType::kF32, {1}, {global});
    b.write(folder / "model");
    if (global == 1)
      EXPECT_EQ(test::values_of(Checkpoint::open(folder / "model"), "m.up_proj"), std::vector<float>(64, 2.f));
    else
      EXPECT_EQ(test::refusal_of(folder / "model").tensor(), "m.up_proj.weight_global_scale");
  }
}

// compressed-tensors#644: `scale_dtype` is null in old files.
TEST(MxExponents, AreKnownWithoutAScaleDtype) {
  const test::TemporaryFolder folder;
  const ModelBuilder b = ModelBuilder()
                             .bytes("m.up_proj.weight_packed", DType::kU8, {2, 16}, {test::kOnes})
                             .bytes("m.up_proj.weight_scale", DType::kU8, {2, 1}, {test::kE8m0One - 1})
                             .file("config.json", R"({"quantization_config": {"quant_method": "compressed-tensors",
      "config_groups": {"group_0": {"targets": ["Linear"], "input_activations": null, "weights":
      {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32, "scale_dtype": null}}}}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"), {.strict = true});
  model.require_usable();
  EXPECT_TRUE(model.warnings().empty());
  EXPECT_EQ(test::values_of(model, "m.up_proj"), std::vector<float>(64, 0.5f));
}

// vllm-project/vllm#46676: byte 0 gave 0 or minus infinity. It is 2^-127; 254 is 2^127; 255 is no number.
TEST(MxExponents, ReachBothEnds) {
  for (const auto& [byte, scale] : {std::pair{std::uint8_t{0}, 0x1p-127f}, {std::uint8_t{254}, 0x1p127f}}) {
    const test::TemporaryFolder folder;
    const ModelBuilder b = ModelBuilder()
                               .bytes("m.up_proj.weight", DType::kF8E4M3, {2, 32}, {test::kOne})
                               .bytes("m.up_proj.weight_scale", DType::kU8, {2, 1}, {byte});
    EXPECT_EQ(test::values_of(Checkpoint::open(b.write(folder / "model")), "m.up_proj"), std::vector<float>(64, scale));
  }
  const test::TemporaryFolder folder;
  const ModelBuilder b = ModelBuilder()
                             .bytes("m.up_proj.weight", DType::kF8E4M3, {2, 32}, {test::kOne})
                             .bytes("m.up_proj.weight_scale", DType::kU8, {2, 1}, {test::kE8m0One, 255});
  const Error e = test::refusal_of(b.write(folder / "model"));
  EXPECT_EQ(e.code(), Errc::kCorrupt);
  EXPECT_TRUE(test::has(e.message(), "[1, 0]") && test::has(e.message(), "255")) << e.what();
}

// pytorch/ao#4725: the maximum went through bf16 before its exponent was rounded up. 448 + one ulp needs the next
// power.
TEST(MxExponents, AreRoundedUpFromF32) {
  Stream stream(kCpu, 1);
  std::vector<float> values(32, 0.f);
  for (const auto& [amax, byte] : {std::pair{448.f, 127}, {448.f + 0x1p-14f, 128}}) {
    values[7] = amax;
    const QuantizedTensor q = quantize(stream, row_of(values), {find_format("mxfp8"), &find_writer("deepseek")});
    EXPECT_EQ(q.scales.as<std::uint8_t>()[0], byte);
  }
}

// ml-explore/mlx#4353: exponents rounded to nearest clip block maxima by up to 29 % (448 of 2^9.3).
// microsoft/microxcaling#4: OCP's floor takes 957 to 896, and 512 to 448: an eighth. Those are the exporters' own rules
// (docs/formats/writers.md); every other writer clips no more than a maximum's own rounding, half a step of E4M3: 2^-4.
TEST(MxExponents, ClipMaximaByTheirRuleAlone) {
  const std::map<std::string_view, float> by_design{
      {"mlx", 0.2929f},  {"auto-round", 0.125f},  {"torchao", 0.125f},      {"torchao:even", 0.125f},
      {"quark", 0.125f}, {"quark:floor", 0.125f}, {"gpt-oss:floor", 0.125f}};
  Stream stream(kCpu, 1);
  int writers = 0;
  for (const Writer* writer : all_writers()) {
    if (!writer->supports(find_format("mxfp8")) || writer->encode(find_format("mxfp8"), DType::kF32).stochastic)
      continue;
    ++writers;
    std::vector<float> maxima{957, 448, 449, 0x1p-100f};
    for (float amax = 1; amax < 4; amax *= 1.0625f) maxima.push_back(amax);
    for (const float amax : maxima) {
      if (amax < 1 && writer->name == std::string_view("deepseek")) continue;  // its least amax is 1e-4
      std::vector<float> values(32, 0.f);
      values[3] = amax;
      const Tensor y = dequantize(stream, quantize(stream, row_of(values), {find_format("mxfp8"), writer}));
      const auto known = by_design.find(writer->name);
      EXPECT_NEAR(y.as<float>()[3], amax, amax * (known == by_design.end() ? 0.0625f : known->second))
          << writer->name << " " << amax;
    }
  }
  EXPECT_GE(writers, 5);
}

// huggingface/transformers#47030: f32 block scales were rounded up to powers of two under the same codes. Nothing here
// changes a scale but with its codes: 0.3 stays 0.3, and a dialect that needs powers of two refuses.
TEST(MxExponents, DoNotReplaceScalesThatAreNoPowersOfTwo) {
  const test::TemporaryFolder folder;
  ModelBuilder()
      .bytes("m.up_proj.weight", DType::kF8E4M3, {128, 128}, {test::kOne})
      .numbers("m.up_proj.weight_scale_inv", DType::kF32, {1, 1}, {0.3f})
      .file("config.json", R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})")
      .write(folder / "model");
  const Checkpoint model = Checkpoint::open(folder / "model", {.strict = true});
  Stream stream(kCpu, 1);
  for (const std::string target : {"compressed-tensors", "modelopt", "fp8-block"}) {
    convert_checkpoint(stream, model, folder / target, {.dialect = &find_dialect(target)});
    EXPECT_EQ(test::values_of(Checkpoint::open(folder / target), "m.up_proj"), std::vector<float>(128 * 128, 0.3f))
        << target;
  }
}

// MLX: four words and a scale are 32 codes of 4 bits, or 16 of 8. The mode decides, a layer's own before the model's;
// without one both fit, and that is said.
TEST(MxExponents, OfRowsOfOneScaleFollowTheMode) {
  const std::string own = R"("m.up_proj": {"group_size": 32, "bits": 8, "mode": "mxfp8"})";
  for (const auto& [config, format, cols] :
       {std::tuple{std::string(R"({"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4"}})"), "mxfp4", 32},
        std::tuple{std::string(R"({"quantization": {"group_size": 32, "bits": 8, "mode": "mxfp8"}})"), "mxfp8", 16},
        std::tuple{R"({"quantization": {"group_size": 16, "bits": 4, "mode": "nvfp4", )" + own + "}}", "mxfp8", 16},
        std::tuple{std::string("{}"), "", 0}}) {
    const test::TemporaryFolder folder;
    ModelBuilder()
        .bytes("m.up_proj.weight", DType::kU32, {2, 4}, {test::kOnes})
        .bytes("m.up_proj.scales", DType::kU8, {2, 1}, {test::kE8m0One + 1})
        .file("config.json", config)
        .write(folder / "model");
    if (cols == 0) {
      const Error e = test::refusal_of(folder / "model");
      EXPECT_TRUE(test::has(e.message(), "mxfp4") && test::has(e.message(), "mxfp8")) << e.what();
      continue;
    }
    const Checkpoint model = Checkpoint::open(folder / "model");
    model.require_usable();
    EXPECT_EQ(model.find("m.up_proj")->reading.format.name, format);
    EXPECT_EQ(model.find("m.up_proj")->reading.extent, (Extent{2, cols}));
  }
}

// compressed-tensors#820, #817: f32 to bf16 to E2M1 rounds twice. 0.25 + 2^-12 lies above the tie of 0 and 0.5, and its
// bf16 on it. compressed-tensors#781: f32 weights were packed by the bits of another dtype.
TEST(Rounding, GoesFromF32ToTheCodeInOneStep) {
  Stream stream(kCpu, 1);
  std::vector<float> values(32, 0.f);
  values[0] = 6;
  values[1] = 0.25f + 0x1p-12f;
  values[2] = 0.25f;
  values[3] = -1.25f - 0x1p-13f;
  for (const char* writer : {"nearest", "compressed-tensors", "modelopt"}) {
    const Tensor y = dequantize(stream, quantize(stream, row_of(values), {find_format("mxfp4"), &find_writer(writer)}));
    EXPECT_EQ(y.as<float>()[0], 6) << writer;
    EXPECT_EQ(y.as<float>()[1], 0.5f) << writer;
    EXPECT_EQ(y.as<float>()[2], 0.f) << writer;
    EXPECT_EQ(y.as<float>()[3], -1.5f) << writer;
  }
}

}  // namespace
}  // namespace tessera
