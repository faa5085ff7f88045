// AutoRound's NVFP4 with UE5M3 scales, as either of its exports declares it: read exactly, and taken on by what
// follows. Values: intel/auto-round 0.15, data_type/nvfp.py (five bits of exponent with bias 15, three of mantissa,
// 0xff is NaN).
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tessera/weights/convert_checkpoint.h"
#include "tessera/weights/dequantize_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

constexpr const char* kModule = "model.layers.0.mlp.up_proj";
constexpr const char* kNative =
    R"({"quantization_config": {"quant_method": "auto-round", "data_type": "nvfp4_v2", "bits": 4, "group_size": 16,
        "act_bits": 4, "autoround_version": "0.15.0"}})";
constexpr const char* kLlmCompressor =
    R"({"quantization_config": {"quant_method": "compressed-tensors", "provider": "auto-round",
        "format": "nvfp4-e5m3-pack-quantized", "config_groups": {"group_0": {"targets": ["Linear"],
        "weights": {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 16},
        "input_activations": {"num_bits": 4, "type": "float", "dynamic": "local"}}}}})";

// A row for each byte, with the code 1.0 everywhere: values are the scales.
ModelBuilder every_scale(std::int64_t rows = 255) {
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(rows));
  std::iota(scales.begin(), scales.end(), std::uint8_t{0});
  return ModelBuilder()
      .bytes(std::string(kModule) + ".weight_packed", DType::kU8, {rows, 8}, {test::kOnes})
      .bytes(std::string(kModule) + ".weight_scale", DType::kU8, {rows, 1}, scales);
}

float value_of(int byte) {
  const int exponent = byte >> 3, mantissa = byte & 7;
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -17)
                       : std::ldexp(static_cast<float>(8 + mantissa), exponent - 18);
}

TEST(Ue5m3Scales, AreReadUnderEitherDeclaration) {
  for (const char* config : {kNative, kLlmCompressor}) {
    const test::TemporaryFolder folder;
    const Checkpoint model =
        Checkpoint::open(every_scale().file("config.json", config).write(folder / "model"), {.strict = true});
    model.require_usable();
    EXPECT_TRUE(model.problems().empty() && model.warnings().empty()) << config;
    EXPECT_EQ(model.find(kModule)->reading.format.name, "nvfp4_e5m3");
    EXPECT_EQ(model.find(kModule)->reading.dialect->name, "auto-round");
    const std::vector<float> values = test::values_of(model, kModule);
    for (int byte = 0; byte < 255; ++byte)
      EXPECT_EQ(values[static_cast<std::size_t>(byte) * 16], value_of(byte)) << byte;
  }
}

TEST(Ue5m3Scales, AreRefusedWhereNothingSaysWhatTheyAre) {
  const test::TemporaryFolder folder;
  const Error e = test::refusal_of(every_scale().write(folder / "model"));
  EXPECT_EQ(e.code(), Errc::kUnsupported);
  EXPECT_TRUE(test::has(e.message(), kModule) && test::has(e.message(), "UE5M3")) << e.what();
  const Error other =
      test::refusal_of(ModelBuilder()
                           .bytes(std::string(kModule) + ".weight_packed", DType::kU8, {4, 16}, {test::kOnes})
                           .bytes(std::string(kModule) + ".weight_scale", DType::kU8, {4, 1}, {test::kE8m0One})
                           .file("config.json", kNative)
                           .write(folder / "thirty_two"));
  EXPECT_TRUE(test::has(other.message(), kModule) && test::has(other.message(), "one for 32")) << other.what();
}

TEST(Ue5m3Scales, OfNanAreNamed) {
  const test::TemporaryFolder folder;
  const Error e = test::refusal_of(every_scale(256).file("config.json", kNative).write(folder / "model"));
  EXPECT_EQ(e.tensor(), std::string(kModule) + ".weight_scale");
  EXPECT_TRUE(test::has(e.message(), "[255, 0]") && test::has(e.message(), "0xFF")) << e.what();
}

TEST(Ue5m3Scales, GoOnAsDenseOrInAnotherFormat) {
  const test::TemporaryFolder folder;
  const Checkpoint model = Checkpoint::open(every_scale().file("config.json", kNative).write(folder / "model"));
  Stream stream(kCpu, 2);
  dequantize_checkpoint(stream, model, folder / "dense", {.dtype = DType::kF32});
  const Checkpoint dense = Checkpoint::open(folder / "dense");
  const Tensor rows = dense.load_dense_rows(*dense.find(kModule), 0, 255);
  for (int byte = 0; byte < 255; ++byte) EXPECT_EQ(rows.as<float>()[byte * 16], value_of(byte)) << byte;

  const Dialect& target = find_dialect("compressed-tensors");
  const Error e = test::error_of([&] { convert_checkpoint(stream, model, folder / "x", {.dialect = &target}); });
  EXPECT_EQ(e.code(), Errc::kUnsupported);
  EXPECT_TRUE(test::has(e.message(), "nvfp4_e5m3") && test::has(e.message(), kModule)) << e.what();
  convert_checkpoint(stream, model, folder / "nvfp4", {.dialect = &target, .requantize = true});
  EXPECT_EQ(Checkpoint::open(folder / "nvfp4").find(kModule)->reading.format.name, "nvfp4");
}

}  // namespace
}  // namespace tessera
