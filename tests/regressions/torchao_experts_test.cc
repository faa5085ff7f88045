// Experts that are parameters of three axes in torchao's files: "experts._gate_up_proj_qdata" and its kin.
#include <gtest/gtest.h>

#include "tessera/weights/dequantize_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

constexpr const char* kFolder = "model.layers.0.mlp.experts";

std::string class_of(const char* type, bool tiles) {
  return fmt::format(R"({{"_type": "{}", "_data": {{"is_swizzled_scales": {}}}}})", type, tiles ? "true" : "false");
}

// Two experts of hidden size 32 and 16 units: gate_up [2, 32, 32], down [2, 32, 16]. Codes are 1.0; scales differ by
// row.
ModelBuilder nvfp4_experts() {
  std::vector<std::uint8_t> scales(2 * 32 * 2);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = i / 2 % 32 < 16 ? test::kOne : test::kTwo;
  return ModelBuilder()
      .bytes(std::string(kFolder) + "._gate_up_proj_qdata", DType::kU8, {2, 32, 16}, {test::kOnes})
      .bytes(std::string(kFolder) + "._gate_up_proj_scale", DType::kF8E4M3, {2, 32, 2}, scales)
      .numbers(std::string(kFolder) + "._gate_up_proj_per_tensor_scale", DType::kF32, {2, 1, 1}, {0.25f, 2})
      .bytes(std::string(kFolder) + "._down_proj_qdata", DType::kU8, {2, 32, 8}, {test::kOnes})
      .bytes(std::string(kFolder) + "._down_proj_scale", DType::kF8E4M3, {2, 32, 1}, {test::kOne})
      .numbers(std::string(kFolder) + "._down_proj_per_tensor_scale", DType::kF32, {}, {0.5f})
      .metadata(std::string(kFolder) + ".gate_up_proj", class_of("NVFP4Tensor", false))
      .metadata(std::string(kFolder) + ".down_proj", class_of("NVFP4Tensor", false));
}

TEST(TorchaoExperts, AreMatricesOfABank) {
  const test::TemporaryFolder folder;
  const Checkpoint model = Checkpoint::open(nvfp4_experts().write(folder / "model"));
  model.require_usable();
  EXPECT_TRUE(model.problems().empty());
  for (const auto& [part, extent, value] :
       {std::tuple{".0.gate_proj", Extent{16, 32}, 0.25f}, std::tuple{".0.up_proj", Extent{16, 32}, 0.5f},
        std::tuple{".1.gate_proj", Extent{16, 32}, 2.f}, std::tuple{".1.up_proj", Extent{16, 32}, 4.f},
        std::tuple{".1.down_proj", Extent{32, 16}, 0.5f}}) {
    const Module* m = model.find(std::string(kFolder) + part);
    ASSERT_NE(m, nullptr) << part;
    EXPECT_EQ(m->reading.extent, extent) << part;
    EXPECT_EQ(m->reading.dialect->name, "torchao");
    EXPECT_EQ(test::values_of(model, std::string(kFolder) + part),
              std::vector<float>(static_cast<std::size_t>(extent.count()), value))
        << part;
  }
}

TEST(TorchaoExperts, ComeBackAsTheModelHasThem) {
  const test::TemporaryFolder folder;
  Stream stream(kCpu, 1);
  dequantize_checkpoint(stream, Checkpoint::open(nvfp4_experts().write(folder / "model")), folder / "dense",
                        {.dtype = DType::kF32});
  const Checkpoint dense = Checkpoint::open(folder / "dense");
  const StoredTensor* gate_up = dense.container().find(std::string(kFolder) + ".gate_up_proj");
  ASSERT_NE(gate_up, nullptr);
  EXPECT_EQ(gate_up->shape, (Shape{2, 32, 32}));
  const Tensor values = dense.load_tensor(*gate_up);
  EXPECT_EQ(values.as<float>()[0], 0.25f);
  EXPECT_EQ(values.as<float>()[31 * 32], 0.5f);
  EXPECT_EQ(values.as<float>()[63 * 32 + 31], 4.f);
}

// Each expert has tiles of its own.
TEST(TorchaoExperts, HaveTilesOfTheirOwn) {
  const test::TemporaryFolder folder;
  std::vector<std::uint8_t> scales(2 * 512, test::kE8m0One);
  scales[512 + 16] = test::kE8m0One + 1;  // row 1 of the second expert, first block
  const Checkpoint model =
      Checkpoint::open(ModelBuilder()
                           .bytes(std::string(kFolder) + "._down_proj_qdata", DType::kF8E4M3, {2, 64, 64}, {test::kOne})
                           .bytes(std::string(kFolder) + "._down_proj_scale", DType::kF8E8M0, {2, 32, 16}, scales)
                           .metadata(std::string(kFolder) + ".down_proj", class_of("MXTensor", true))
                           .write(folder / "model"));
  model.require_usable();
  EXPECT_EQ(test::values_of(model, std::string(kFolder) + ".0.down_proj"), std::vector<float>(64 * 64, 1.f));
  const std::vector<float> second = test::values_of(model, std::string(kFolder) + ".1.down_proj");
  EXPECT_EQ(second[63], 1.f);
  EXPECT_EQ(second[64], 2.f);
  EXPECT_EQ(second[64 + 32], 1.f);
}

// A parameter [experts, in, out] is quantized along out. Split into gate and up by rows it would be noise.
TEST(TorchaoExperts, AreRefusedWhereTheyStandTransposed) {
  const test::TemporaryFolder folder;
  const Error e = test::refusal_of(
      ModelBuilder()
          .bytes(std::string(kFolder) + "._gate_up_proj_qdata", DType::kF8E4M3, {2, 96, 64}, {test::kOne})
          .bytes(std::string(kFolder) + "._gate_up_proj_scale", DType::kF8E8M0, {2, 96, 2}, {test::kE8m0One})
          .bytes(std::string(kFolder) + "._down_proj_qdata", DType::kF8E4M3, {2, 32, 96}, {test::kOne})
          .bytes(std::string(kFolder) + "._down_proj_scale", DType::kF8E8M0, {2, 32, 3}, {test::kE8m0One})
          .metadata(std::string(kFolder) + ".gate_up_proj", class_of("MXTensor", false))
          .metadata(std::string(kFolder) + ".down_proj", class_of("MXTensor", false))
          .write(folder / "model"));
  EXPECT_EQ(e.code(), Errc::kUnsupported);
  EXPECT_TRUE(test::has(e.message(), "[experts, in, out]")) << e.what();
}

}  // namespace
}  // namespace tessera
