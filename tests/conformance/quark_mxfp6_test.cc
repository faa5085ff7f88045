// MXFP6 in a model of AMD Quark's, made of the codes and scales that its own code wrote: the configuration says which
// of the two elements it is, and values are those that its own dequantizer gives.
#include <gtest/gtest.h>

#include "tessera/weights/convert_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/fixture.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

constexpr const char* kModule = "model.layers.0.mlp.up_proj";

std::vector<std::uint8_t> bytes_of(const Tensor& t) { return {t.as<std::uint8_t>(), t.as<std::uint8_t>() + t.bytes()}; }

ModelBuilder model_of(const test::Fixture& fixture, const std::string& dtype) {
  const Tensor &codes = fixture.at("gauss_bf16.codes"), &scales = fixture.at("gauss_bf16.scales");
  return ModelBuilder()
      .bytes(std::string(kModule) + ".weight", DType::kU8, codes.shape(), bytes_of(codes))
      .bytes(std::string(kModule) + ".weight_scale", DType::kU8, scales.shape(), bytes_of(scales))
      .file("config.json", R"({"quantization_config": {"quant_method": "quark", "global_quant_config": {"weight": {
            "dtype": ")" + dtype +
                               R"(", "qscheme": "per_group", "group_size": 32, "scale_format": "e8m0"}}}})");
}

TEST(QuarkMxfp6, ReadsTheElementThatTheConfigurationNames) {
  for (const std::string element : {"e2m3", "e3m2"}) {
    const test::Fixture fixture = test::read_fixture("numerics/quark_mxfp6_" + element + "_even.safetensors");
    const test::TemporaryFolder folder;
    const Checkpoint model =
        Checkpoint::open(model_of(fixture, "fp6_" + element).write(folder / "model"), {.strict = true});
    model.require_usable();
    EXPECT_TRUE(model.problems().empty() && model.warnings().empty());
    EXPECT_EQ(model.find(kModule)->reading.format.name, "mxfp6_" + element);
    EXPECT_EQ(model.find(kModule)->reading.extent, fixture.at("gauss_bf16.input").extent());
    const Tensor& wanted = fixture.at("gauss_bf16.dequant");
    const std::vector<float> values = test::values_of(model, kModule);
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), wanted.count());
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], wanted.as<float>()[i]) << element << " " << i;

    Stream stream(kCpu, 1);
    const Dialect& target = find_dialect("modelopt");
    const Error e = test::error_of([&] { convert_checkpoint(stream, model, folder / "x", {.dialect = &target}); });
    EXPECT_TRUE(test::has(e.message(), "mxfp6_" + element) && test::has(e.message(), kModule)) << e.what();
  }
}

// The bytes are the same for both, and no shape tells.
TEST(QuarkMxfp6, IsRefusedWhereTheConfigurationNamesNone) {
  const test::Fixture fixture = test::read_fixture("numerics/quark_mxfp6_e2m3_even.safetensors");
  const test::TemporaryFolder folder;
  const Error e = test::refusal_of(model_of(fixture, "fp6").write(folder / "model"));
  EXPECT_EQ(e.code(), Errc::kUnsupported);
  EXPECT_TRUE(test::has(e.message(), "fp6_e2m3") && test::has(e.message(), kModule)) << e.what();
}

}  // namespace
}  // namespace tessera
