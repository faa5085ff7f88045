// Files with one fault each, made from undamaged ones, and what a fix makes of them: the undamaged values bit for bit,
// or an error that says why nobody can know them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tessera/io/grid.h"
#include "tessera/weights/convert_checkpoint.h"
#include "tessera/weights/fix.h"
#include "tests/regressions/damaged.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::copy_of;
using test::EditedTensor;
using test::ModelBuilder;

std::string fixture(const std::string& name) {
  return std::string(TESSERA_TEST_DATA) + "/checkpoints/quantized/" + name;
}

FixedCheckpoint fixed(const std::string& folder, std::string_view name) {
  const Fix* fix = &find_fix(name);
  return apply_fixes(Checkpoint::open(folder), std::span(&fix, 1));
}

// Writes the repaired model in the dialect and compares its values with those of the undamaged one.
void expect_repaired(const std::string& damaged, std::string_view fix, const Checkpoint& undamaged,
                     std::string_view dialect) {
  const FixedCheckpoint repaired = fixed(damaged, fix);
  ASSERT_TRUE(repaired.changed()) << "nothing was found";
  const test::TemporaryFolder folder;
  Stream stream(kCpu, 1);
  convert_checkpoint(stream, repaired.model, folder / "out", {.dialect = &find_dialect(dialect)});
  const Checkpoint out = Checkpoint::open(folder / "out", {.strict = true});
  out.require_usable();
  std::size_t compared = 0;
  for (const Module& m : undamaged.modules()) {
    const Module* found = out.find(m.name);
    if (!m.is_quantized() || found == nullptr || !found->is_quantized()) continue;
    ++compared;
    const Tensor a = dequantize(stream, undamaged.load(m)), b = dequantize(stream, out.load(*found));
    ASSERT_EQ(a.bytes(), b.bytes()) << m.name;
    // Zeros by value where one of the two dialects reads code 8 as +0.
    std::size_t other = 0;
    const bool signs = m.reading.spelling->reads_minus_zero == found->reading.spelling->reads_minus_zero;
    for (std::int64_t i = 0; i < a.count(); ++i) {
      const float x = a.as<float>()[i], y = b.as<float>()[i];
      other += x != y || (signs && std::signbit(x) != std::signbit(y));
    }
    EXPECT_EQ(other, 0u) << m.name;
  }
  EXPECT_GT(compared, 0u);
}

void expect_nothing_to_fix(const std::string& folder, std::string_view fix) {
  EXPECT_FALSE(fixed(folder, fix).changed()) << fix;
}

void expect_doubt(const std::string& folder, std::string_view fix, std::string_view why) {
  const Error e = test::error_of([&] { fixed(folder, fix); });
  EXPECT_EQ(e.code(), Errc::kCorrupt) << e.what();
  EXPECT_TRUE(test::has(e.message(), why)) << e.what() << "\nwanted: " << why;
}

// No exporter's file has a fault that a fix would change.
TEST(Fixes, FindNothingInUndamagedFiles) {
  for (const char* name : {"llmcompressor-mini-NVFP4", "llmcompressor-mini-MXFP4", "modelopt-mini-NVFP4",
                           "torchao-llama-nvfp4", "quark-qwen2-fp8", "llmcompressor-mini_moe-mixed-FP8-NVFP4"})
    for (const Fix* fix : all_fixes()) {
      const Repair repair = fix->plan(Checkpoint::open(fixture(name)), kEveryByte);
      EXPECT_TRUE(repair.findings.empty()) << name << " " << fix->name << ": " << repair.findings[0].message;
      EXPECT_TRUE(repair.amendment.empty()) << name << " " << fix->name;
    }
}

// NVIDIA/Model-Optimizer#1633: 0x7F where the clamp would have left 0x7E.
TEST(NanBlockScales, BecomeTheLargestScale) {
  const test::TemporaryFolder folder;
  std::size_t changed = 0;
  copy_of(fixture("modelopt-mini-NVFP4"), [&](EditedTensor& t) {
    if (t.name.ends_with(".weight_scale"))
      for (std::uint8_t& b : t.bytes)
        if (b == 0x7e) b = 0x7f, ++changed;
  }).write(folder / "damaged");
  ASSERT_GT(changed, 0u);
  EXPECT_EQ(test::refusal_of(folder / "damaged").code(), Errc::kCorrupt);
  expect_repaired(folder / "damaged", "nan-block-scales", Checkpoint::open(fixture("modelopt-mini-NVFP4")), "modelopt");
}

// Model-Optimizer's weight of zeros: global 0, scales 0 / 0, codes 7.
TEST(NanBlockScales, UnderAGlobalOfZeroAreAWeightOfZeros) {
  const test::TemporaryFolder folder;
  for (const std::uint8_t nan : {std::uint8_t{0x7f}, std::uint8_t{0xff}}) {
    const std::string damaged = folder / std::to_string(nan);
    ModelBuilder()
        .bytes("m.up_proj.weight", DType::kU8, {2, 8}, {0x77})
        .bytes("m.up_proj.weight_scale", DType::kF8E4M3, {2, 1}, {nan})
        .numbers("m.up_proj.weight_scale_2", DType::kF32, {}, {0})
        .write(damaged);
    const FixedCheckpoint repaired = fixed(damaged, "nan-block-scales");
    repaired.model.require_usable();
    EXPECT_EQ(test::values_of(repaired.model, "m.up_proj"), std::vector<float>(32, 0.f));
  }
}

TEST(NanBlockScales, OfTheOtherSignAreInDoubt) {
  const test::TemporaryFolder folder;
  ModelBuilder()
      .bytes("m.up_proj.weight", DType::kU8, {2, 8}, {test::kOnes})
      .bytes("m.up_proj.weight_scale", DType::kF8E4M3, {2, 1}, {0xff, test::kTwo})
      .numbers("m.up_proj.weight_scale_2", DType::kF32, {}, {0.25f})
      .write(folder / "damaged");
  expect_doubt(folder / "damaged", "nan-block-scales", "0xFF");
}

// kekzl/imp#1433, the file: ModelOpt's names over compressed-tensors' divisors. The original divides, so the repaired
// values are those of dividing, not of multiplying with a rounded inverse.
TEST(SwappedGlobals, AreTurnedRound) {
  const test::TemporaryFolder folder;
  const std::string source = fixture("llmcompressor-mini-NVFP4");
  const Checkpoint undamaged = Checkpoint::open(source);
  Stream stream(kCpu, 1);
  convert_checkpoint(stream, undamaged, folder / "modelopt", {.dialect = &find_dialect("modelopt")});
  copy_of(folder / "modelopt", [&](EditedTensor& t) {
    if (!t.name.ends_with(".weight_scale_2")) return;
    const Module& m = *undamaged.find(t.name.substr(0, t.name.rfind('.')));
    std::memcpy(t.bytes.data(), &m.global_in_file, 4);
  }).write(folder / "damaged");
  expect_repaired(folder / "damaged", "swapped-global-sense", undamaged, "modelopt");
  expect_repaired(folder / "damaged", "swapped-global-sense", undamaged, "compressed-tensors");
}

TEST(SwappedGlobals, AreInDoubtBesideRightOnesAndBetweenTheRanges) {
  const test::TemporaryFolder folder;
  for (const float other : {0x1p-10f, 1.5f}) {
    ModelBuilder b;
    test::add_mo_nvfp4(b, "m.up_proj", 4096.f);
    test::add_mo_nvfp4(b, "m.down_proj", other);
    const std::string path = folder / std::to_string(other);
    b.write(path);
    expect_doubt(path, "swapped-global-sense", "m.down_proj.weight_scale_2");
  }
  ModelBuilder right;
  test::add_mo_nvfp4(right, "m.up_proj", 0x1p-10f);
  expect_nothing_to_fix(right.write(folder / "right"), "swapped-global-sense");
}

TEST(StaleConfiguration, IsWrittenFromTheTensors) {
  const test::TemporaryFolder folder;
  const std::string source = fixture("modelopt-mini-NVFP4");
  copy_of(
      source, [](EditedTensor&) {},
      [](std::string text) {
        return test::replaced(std::move(text), R"("quant_algo": "NVFP4")", R"("quant_algo": "FP8")");
      })
      .write(folder / "damaged");
  EXPECT_THROW(Checkpoint::open(folder / "damaged", {.strict = true}).require_usable(), Error);
  EXPECT_NO_THROW(fixed(folder / "damaged", "stale-configuration").model.require_usable());
  EXPECT_TRUE(fixed(folder / "damaged", "stale-configuration").model.warnings().empty());
  expect_repaired(folder / "damaged", "stale-configuration", Checkpoint::open(source), "modelopt");
}

// A block size that the scales contradict makes the weight unreadable; the tensors have it right.
TEST(StaleConfiguration, OfAWrongBlockSizeIsLeftOut) {
  const test::TemporaryFolder folder;
  const auto model = [&](std::string_view block) {
    return ModelBuilder()
        .bytes("m.up_proj.weight", DType::kF8E4M3, {256, 256}, {test::kOne})
        .numbers("m.up_proj.weight_scale_inv", DType::kF32, {2, 2}, {1, 2, 3, 4})
        .file("config.json",
              fmt::format(R"({{"quantization_config": {{"quant_method": "fp8", "weight_block_size": {}}}}})", block));
  };
  model("[64, 64]").write(folder / "damaged");
  model("[128, 128]").write(folder / "undamaged");
  EXPECT_EQ(test::refusal_of(folder / "damaged").code(), Errc::kShape);
  expect_repaired(folder / "damaged", "stale-configuration", Checkpoint::open(folder / "undamaged"), "fp8-block");
  expect_nothing_to_fix(folder / "undamaged", "stale-configuration");
}

// vllm-project/compressed-tensors#799: neither the group nor the whole says which compressor it was.
TEST(AbsentFormatKey, IsInferredFromTheTensors) {
  const test::TemporaryFolder folder;
  const std::string source = fixture("llmcompressor-mini_moe-mixed-FP8-NVFP4");
  copy_of(
      source, [](EditedTensor&) {},
      [](std::string text) { return test::replaced(std::move(text), "\"format\"", "\"was\""); })
      .write(folder / "damaged");
  const FixedCheckpoint repaired = fixed(folder / "damaged", "absent-format-key");
  ASSERT_TRUE(repaired.changed());
  const Json before = parse_json(read_side_file(source, "config.json"));
  const Json &found = *repaired.model.config().quantization(), &wanted = *before.find("quantization_config");
  EXPECT_EQ(found.string_or("format", ""), wanted.string_or("format", "-"));
  for (const auto& [name, group] : wanted.find("config_groups")->as_object())
    EXPECT_EQ(found.find("config_groups", name)->string_or("format", ""), group.string_or("format", "-")) << name;
  expect_repaired(folder / "damaged", "absent-format-key", Checkpoint::open(source), "compressed-tensors");
}

// Both conventions at once, which a conversion that renames but does not remove leaves behind.
TEST(DuplicatedActivationScales, OfTheOtherConventionAreDropped) {
  const test::TemporaryFolder folder;
  const auto model = [&](float input_scale, bool own) {
    ModelBuilder b;
    test::add_ct_nvfp4(b, "m.up_proj", 256).numbers("m.up_proj.input_scale", DType::kF32, {}, {input_scale});
    if (own) b.numbers("m.up_proj.input_global_scale", DType::kF32, {1}, {8});
    return b;
  };
  model(0.125f, true).write(folder / "same");
  EXPECT_EQ(test::refusal_of(folder / "same").code(), Errc::kCorrupt);
  ModelBuilder undamaged;
  test::add_ct_nvfp4(undamaged, "m.up_proj", 256).write(folder / "undamaged");
  expect_repaired(folder / "same", "duplicated-activation-scales", Checkpoint::open(folder / "undamaged"),
                  "compressed-tensors");
  EXPECT_EQ(fixed(folder / "same", "duplicated-activation-scales").model.find("m.up_proj")->activation->bits, 8.f);
  model(0.5f, true).write(folder / "other");
  expect_doubt(folder / "other", "duplicated-activation-scales", "different things");
  model(0.125f, false).write(folder / "alone");
  expect_doubt(folder / "alone", "duplicated-activation-scales", "may be meant");
  expect_nothing_to_fix(folder / "undamaged", "duplicated-activation-scales");
}

// The reports: ROCm/Megatron-LM#130, ROCm/TransformerEngine#587. Values are derived from the definition of FNUZ:
// bias 8.
std::vector<std::uint8_t> all_but(std::uint8_t least_step, std::uint8_t most) {
  std::vector<std::uint8_t> codes(256);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto magnitude = static_cast<std::uint8_t>(i & 0x7f);
    const bool fits = magnitude <= most && (magnitude >= 16 || magnitude % least_step == 0);
    codes[i] = fits ? static_cast<std::uint8_t>(i) : std::uint8_t{0};
  }
  return codes;
}
float fnuz(std::uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const float magnitude =
      exponent == 0 ? static_cast<float>(mantissa) * 0x1p-10f : static_cast<float>(8 + mantissa) * pow2(exponent - 11);
  return code == 0x80 ? 0.f : (code & 0x80) != 0 ? -magnitude : magnitude;
}

TEST(Fnuz, BecomesE4m3) {
  struct Case {
    std::uint8_t step, most;
  };
  for (const Case c : {Case{1, 0x7e}, Case{2, 0x7f}}) {  // halved scales; codes of the same numbers
    const test::TemporaryFolder folder;
    const std::vector<std::uint8_t> codes = all_but(c.step, c.most);
    ModelBuilder()
        .bytes("m.up_proj.weight", DType::kF8E4M3Fnuz, {8, 32}, codes)
        .numbers("m.up_proj.weight_scale", DType::kF32, {1}, {0.75f})
        .write(folder / "damaged");
    EXPECT_THROW(Checkpoint::open(folder / "damaged").require_usable(), Error);
    const FixedCheckpoint repaired = fixed(folder / "damaged", "fnuz");
    Stream stream(kCpu, 1);
    convert_checkpoint(stream, repaired.model, folder / "out", {.dialect = &find_dialect("compressed-tensors")});
    const std::vector<float> values = test::values_of(Checkpoint::open(folder / "out"), "m.up_proj");
    ASSERT_EQ(values.size(), codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(values[i], fnuz(codes[i]) * 0.75f) << i;
  }
}

// The largest FNUZ number is 0x7F, which is NaN in E4M3: halving the scales has no code for it, keeping them none for
// odd multiples of 2^-10.
TEST(Fnuz, WithBothEndsOfItsRangeIsInDoubt) {
  const test::TemporaryFolder folder;
  ModelBuilder()
      .bytes("m.up_proj.weight", DType::kF8E4M3Fnuz, {8, 32}, all_but(1, 0x7f))
      .numbers("m.up_proj.weight_scale", DType::kF32, {1}, {0.75f})
      .write(folder / "damaged");
  expect_doubt(folder / "damaged", "fnuz", "m.up_proj.weight");
}

// NVIDIA/TensorRT-LLM#10148 (columns padded by the number of rows), vllm-project/vllm#37563, #37564 (padding that
// nobody cleared).
class TilePadding : public testing::Test {
 protected:
  void SetUp() override {
    Stream stream(kCpu, 1);
    convert_checkpoint(stream, undamaged_, folder_ / "comfy", {.dialect = &find_dialect("comfy-quant")});
  }

  // The scales in tiles for `stored`, `filler` around them.
  std::string damaged(Extent more, std::uint8_t filler, const std::string& name) {
    const Checkpoint tiled = Checkpoint::open(folder_ / "comfy");
    copy_of(folder_ / "comfy", [&](EditedTensor& t) {
      if (!t.name.ends_with(".weight_scale")) return;
      const Module& m = *tiled.find(t.name.substr(0, t.name.rfind('.')));
      if (m.reading.scales.order != GridOrder::kTiles) return;
      const Extent grid = scale_extent(m.reading.format, m.reading.extent), old = m.reading.scales.stored;
      const Grid to{.order = GridOrder::kTiles, .stored = {old.rows + more.rows, old.cols + more.cols}};
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(to.stored.count()), filler);
      for (std::int64_t r = 0; r < grid.rows; ++r)
        for (std::int64_t c = 0; c < grid.cols; ++c)
          bytes[static_cast<std::size_t>(to.index(r, c))] =
              t.bytes[static_cast<std::size_t>(m.reading.scales.index(r, c))];
      t.bytes = std::move(bytes);
      t.shape = {to.stored.rows, to.stored.cols};
    }).write(folder_ / name);
    return folder_ / name;
  }

  const test::TemporaryFolder folder_;
  const Checkpoint undamaged_ = Checkpoint::open(fixture("modelopt-qwen3_5_moe-MIXED"));
};

TEST_F(TilePadding, BeyondWhatTheWeightNeedsIsTakenAway) {
  for (const Extent more : {Extent{128, 0}, Extent{0, 16}, Extent{256, 32}}) {
    const std::string path = damaged(more, 0, fmt::format("{}x{}", more.rows, more.cols));
    EXPECT_THROW(Checkpoint::open(path).require_usable(), Error);
    expect_repaired(path, "scale-tile-padding", undamaged_, "comfy-quant");
  }
}

TEST_F(TilePadding, ThatIsNotZeroIsCleared) {
  const std::string path = damaged({0, 0}, 0x7f, "garbage");
  expect_repaired(path, "scale-tile-padding", undamaged_, "comfy-quant");
  const FixedCheckpoint repaired = fixed(path, "scale-tile-padding");
  expect_nothing_to_fix(folder_ / "comfy", "scale-tile-padding");
  const Checkpoint undamaged = Checkpoint::open(folder_ / "comfy");
  const Container& clean = undamaged.container();
  for (const StoredTensor& t : repaired.model.container().tensors()) {
    if (!t.name.ends_with(".weight_scale")) continue;
    EXPECT_EQ(repaired.model.container().read_all(t), clean.read_all(*clean.find(t.name))) << t.name;
  }
}

TEST_F(TilePadding, ThatMayBeScalesIsInDoubt) {
  expect_doubt(damaged({128, 0}, 0x7e, "either"), "scale-tile-padding", "other bytes than zeros");
}

// vllm-project/compressed-tensors#538, #541. Half of the layers stay unquantized, so that there is something to
// compare.
class ExponentOffset : public testing::Test {
 protected:
  std::string model(int lost, const std::string& version, bool with_siblings, const std::string& name) {
    const Checkpoint dense = Checkpoint::open(std::string(TESSERA_TEST_DATA) + "/checkpoints/bf16/llama");
    ModelBuilder b = copy_of(
        source_,
        [&](EditedTensor& t) {
          if (with_siblings && t.name.find("layers.1.") != std::string::npos &&
              t.name.find("weight_") != std::string::npos)
            t.kept = false;
          if (t.name.ends_with(".weight_scale"))
            for (std::uint8_t& byte : t.bytes) byte = static_cast<std::uint8_t>(byte - lost);
        },
        [&](const std::string& text) {
          Json config = parse_json(text);
          config.find("quantization_config")->set("version", version);
          return config.dump();
        });
    if (with_siblings)
      for (const Module& m : undamaged_.modules())
        if (m.is_quantized() && m.name.find("layers.1.") != std::string::npos) {
          const StoredTensor& t = *dense.container().find(m.name + ".weight");
          std::vector<std::uint8_t> bytes;
          for (const std::byte byte : dense.container().read_all(t))
            bytes.push_back(std::to_integer<std::uint8_t>(byte));
          b.bytes(t.name, t.dtype, t.shape, bytes);
        }
    return b.write(folder_ / name);
  }

  const std::string source_ = fixture("llmcompressor-llama-MXFP4");
  const Checkpoint undamaged_ = Checkpoint::open(source_);
  const test::TemporaryFolder folder_;
};

TEST_F(ExponentOffset, OfTwoIsGivenBack) {
  expect_repaired(model(2, "0.13.0", true, "damaged"), "mxfp4-exponent-offset", undamaged_, "compressed-tensors");
}
TEST_F(ExponentOffset, IsNotFoundWhereWeightsHaveTheSizeOfTheirKin) {
  expect_nothing_to_fix(model(0, "0.13.0", true, "nightly"), "mxfp4-exponent-offset");
  expect_nothing_to_fix(model(2, "0.14.0", true, "later"), "mxfp4-exponent-offset");
}
TEST_F(ExponentOffset, IsInDoubtWithoutKinOrAtAnotherRatio) {
  expect_doubt(model(2, "0.13.0", false, "alone"), "mxfp4-exponent-offset", "no unquantized linear layer");
  expect_doubt(model(4, "0.13.0", true, "sixteenth"), "mxfp4-exponent-offset", "of their unquantized kin");
}

}  // namespace
}  // namespace tessera
