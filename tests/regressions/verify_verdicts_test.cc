// What `verify` makes of a checkpoint that was damaged after it was written.
#include <gtest/gtest.h>

#include "tessera/kernels/quantize.h"
#include "tessera/numeric/philox.h"
#include "tessera/weights/quantize_checkpoint.h"
#include "tessera/weights/verify_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kModule = "model.layers.0.mlp.down_proj";
constexpr std::int64_t kRows = 64, kCols = 256;

std::vector<float> original_values() {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < kRows * kCols; ++i)
    values.push_back(static_cast<float>(static_cast<int>(random_word({.seed = 7}, i) >> 24) - 128) / 64);
  return values;
}

Verdict verdict_after(const test::TemporaryFolder& folder, const std::function<void(QuantizedTensor&)>& damage) {
  const Checkpoint dense = Checkpoint::open(
      ModelBuilder().numbers(kModule + ".weight", DType::kBf16, {kRows, kCols}, original_values()).write(folder / "d"));
  Stream stream(kCpu, 1);
  QuantizedTensor q = quantize(stream, dense.load_tensor(*dense.find(kModule)->codes),
                               {find_format("nvfp4"), &find_writer("modelopt")});
  damage(q);
  const std::uint8_t *codes = q.codes.as<std::uint8_t>(), *scales = q.scales.as<std::uint8_t>();
  const Checkpoint model = Checkpoint::open(
      ModelBuilder()
          .bytes(kModule + ".weight", DType::kU8, {kRows, kCols / 2}, {codes, codes + q.codes.bytes()})
          .bytes(kModule + ".weight_scale", DType::kF8E4M3, {kRows, kCols / 16}, {scales, scales + q.scales.bytes()})
          .numbers(kModule + ".weight_scale_2", DType::kF32, {}, {q.global.as<float>()[0]})
          .write(folder / "q"));
  const VerifyReport report = verify_checkpoint(stream, model, &dense, {});
  EXPECT_EQ(report.holds, report.modules.at(0).verdict != Verdict::kWrong);
  return report.modules.at(0).verdict;
}

TEST(VerifyVerdicts, AnUndamagedModuleIsExact) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(verdict_after(folder, [](QuantizedTensor&) {}), Verdict::kExact);
}

// One of 1024 block scales: hardly seen in the error of the whole module.
TEST(VerifyVerdicts, OneHalvedBlockScaleIsWrong) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(verdict_after(folder, [](QuantizedTensor& q) { q.scales.as<std::uint8_t>()[333] -= 8; }), Verdict::kWrong);
}

TEST(VerifyVerdicts, ACodeThatIsOneStepOffLeavesScalesExact) {
  const test::TemporaryFolder folder;
  const auto step = [](QuantizedTensor& q) {
    std::uint8_t& code = q.codes.as<std::uint8_t>()[100];
    code = static_cast<std::uint8_t>((code & 7) == 0 ? code + 1 : code - 1);
  };
  EXPECT_EQ(verdict_after(folder, step), Verdict::kScalesExact);
}

// A search over scales (as observers that minimize the squared error do) moves bytes by a few steps of an eighth.
TEST(VerifyVerdicts, SearchedScalesAreTransformed) {
  const test::TemporaryFolder folder;
  const auto shrink = [](QuantizedTensor& q) {
    for (std::int64_t i = 0; i < q.scales.count(); i += 3) --q.scales.as<std::uint8_t>()[i];
  };
  EXPECT_EQ(verdict_after(folder, shrink), Verdict::kTransformed);
}

}  // namespace
}  // namespace tessera
