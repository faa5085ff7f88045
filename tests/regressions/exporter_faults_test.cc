// Faults that exporters' files are known for and no fix undoes: `inspect --fingerprint` names each in a file that shows
// it, and in none that does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/weights/fingerprint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kUp = "model.layers.0.mlp.up_proj";

// The tensors at which a fault of this code is found.
std::vector<std::string> found(const ModelBuilder& model, std::string_view code,
                               std::uint64_t most = kFingerprintBytes) {
  const test::TemporaryFolder folder;
  std::vector<std::string> tensors;
  for (const Fault& f : take_fingerprint(Checkpoint::open(model.write(folder / "model")), most).faults) {
    if (f.code != code) continue;
    EXPECT_EQ(f.fix, nullptr);
    tensors.push_back(f.tensor);
  }
  return tensors;
}

using Names = std::vector<std::string>;

// vllm-project/compressed-tensors#595
TEST(ExporterFaults, InfiniteGlobalsOfDeadWeights) {
  for (const float global : {kInfinity, 1.f}) {
    ModelBuilder b;
    b.bytes(kUp + ".weight_packed", DType::kU8, {2, 8}, {0})
        .bytes(kUp + ".weight_scale", DType::kF8E4M3, {2, 1}, {0x20})
        .numbers(kUp + ".weight_global_scale", DType::kF32, {1}, {global})
        .numbers(kUp + ".input_global_scale", DType::kF32, {1}, {global});
    const Names expected{kUp + ".weight_global_scale", kUp + ".input_global_scale"};
    EXPECT_EQ(found(b, "infinite-global"), global == 1 ? Names() : expected);
    EXPECT_EQ(found(b, "infinite-global", 0), global == 1 ? Names() : expected) << "it needs no codes";
  }
}

// AutoRound leaves 0 where others leave 1 or infinity.
TEST(ExporterFaults, ZeroGlobalsOfDeadWeights) {
  for (const float global : {0.f, 4096.f}) {
    const ModelBuilder b = ModelBuilder()
                               .bytes(kUp + ".weight_packed", DType::kU8, {2, 8}, {0})
                               .bytes(kUp + ".weight_scale", DType::kF8E4M3, {2, 1}, {0x00})
                               .numbers(kUp + ".weight_global_scale", DType::kF32, {1}, {global});
    EXPECT_EQ(found(b, "zero-global"), global == 0 ? Names{kUp + ".weight_global_scale"} : Names());
  }
}

// NVIDIA/Model-Optimizer#20
TEST(ExporterFaults, CacheScalesThatAreAllOne) {
  for (const float value : {1.f, 0.5f}) {
    ModelBuilder b;
    test::add_mo_nvfp4(b, kUp, 0x1p-10f)
        .numbers("model.layers.0.self_attn.k_proj.k_scale", DType::kF32, {}, {1})
        .numbers("model.layers.0.self_attn.v_proj.v_scale", DType::kF32, {}, {value});
    EXPECT_EQ(found(b, "kv-scales-of-one").size(), value == 1 ? 2u : 0u);
  }
}

// NVIDIA/Model-Optimizer#1397
TEST(ExporterFaults, BlockScalesThatUnderflowed) {
  for (const std::uint8_t scale : {std::uint8_t{0x00}, std::uint8_t{0x01}}) {
    const ModelBuilder b = ModelBuilder()
                               .bytes(kUp + ".weight", DType::kU8, {2, 8}, {0x77})
                               .bytes(kUp + ".weight_scale", DType::kF8E4M3, {2, 1}, {0x7e, scale})
                               .numbers(kUp + ".weight_scale_2", DType::kF32, {}, {0x1.8p-10f});
    EXPECT_EQ(found(b, "block-scale-underflow"), scale == 0 ? Names{kUp + ".weight_scale"} : Names());
    EXPECT_EQ(found(b, "block-scale-underflow", 0), Names()) << "block scales are looked at only when asked";
  }
}

// Model Optimizer and torchao divide a weight of zeros by its scale of zero.
TEST(ExporterFaults, CodesThatAreNanUnderAScaleOfZero) {
  for (const float scale : {0.f, 0.5f}) {
    const ModelBuilder b = ModelBuilder()
                               .bytes(kUp + ".weight", DType::kF8E4M3, {4, 32}, {0x7f})
                               .numbers(kUp + ".weight_scale", DType::kF32, {}, {scale});
    EXPECT_EQ(found(b, "zero-scale-nan-codes"), scale == 0 ? Names{kUp + ".weight_scale"} : Names());
  }
}

// compressed-tensors rounds exponents of FP8 up from 1.75 on, so such blocks use half of the range.
TEST(ExporterFaults, HalvedRangeOfE8m0) {
  for (const std::uint8_t largest : {std::uint8_t{0x77}, std::uint8_t{0x78}}) {
    const ModelBuilder b = ModelBuilder()
                               .bytes(kUp + ".weight", DType::kF8E4M3, {2, 32}, {largest})
                               .bytes(kUp + ".weight_scale", DType::kU8, {2, 1}, {120});
    EXPECT_EQ(found(b, "halved-e8m0-range"), largest == 0x77 ? Names{kUp + ".weight_scale"} : Names());
  }
}

// comfy-kitchen decodes the byte 0 as 0, and divided by it.
TEST(ExporterFaults, ExponentsOfZeroOverCodesThatAreNot) {
  for (const std::uint8_t exponent : {std::uint8_t{0}, std::uint8_t{100}}) {
    std::vector<std::uint8_t> scales(128 * 4, 0);
    scales[0] = 100;
    for (int r = 1; r < 32; ++r) scales[static_cast<std::size_t>(r) * 16] = exponent;
    const std::string note = R"({"format": "mxfp8"})";
    const ModelBuilder b = ModelBuilder()
                               .bytes(kUp + ".weight", DType::kF8E4M3, {32, 32}, {0x7e})
                               .bytes(kUp + ".weight_scale", DType::kU8, {128, 4}, scales)
                               .bytes(kUp + ".comfy_quant", DType::kU8, {static_cast<std::int64_t>(note.size())},
                                      std::vector<std::uint8_t>(note.begin(), note.end()));
    EXPECT_EQ(found(b, "e8m0-byte-zero"), exponent == 0 ? Names{kUp + ".weight_scale"} : Names());
  }
}

// transformers cast weights that its blocks do not divide, and saved scales from memory that nobody had set.
TEST(ExporterFaults, ScalesFromUnsetMemory) {
  for (const float scale : {1e30f, 1e-3f}) {
    const ModelBuilder b = ModelBuilder()
                               .bytes(kUp + ".weight", DType::kF8E4M3, {130, 128}, {test::kOne})
                               .numbers(kUp + ".weight_scale_inv", DType::kF32, {2, 1}, {1e-3f, scale});
    EXPECT_EQ(found(b, "uninitialized-scales"), scale > 1 ? Names{kUp + ".weight_scale_inv"} : Names());
  }
}

}  // namespace
}  // namespace tessera
