// Single files of diffusion models, by the real exporters: scales in tiles, nibbles either way, padding. Values are the
// exporter's own, or those of the same export in rows. Fixtures: tests/data/single_file/README.md.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tessera/io/checkpoint.h"
#include "tessera/kernels/quantize.h"
#include "tessera/weights/convert_checkpoint.h"
#include "tests/support/fixture.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

std::string data(const std::string& name) {
  return std::string(TESSERA_TEST_DATA) + "/single_file/" + name + ".safetensors";
}

Tensor values_of(const Checkpoint& model, const Module& m) {
  Stream stream(kCpu, 1);
  return dequantize(stream, model.load(m));
}

class Comfy : public testing::TestWithParam<const char*> {};

// comfy-kitchen multiplies in bf16 for NVFP4 and FP8: the scale with the global is rounded (2^-8 of it, half a unit in
// the last of 8 bits), and then its product with the code: at most 2^-7 + 2^-16. MXFP8 it multiplies in f32 and rounds
// once.
TEST_P(Comfy, ValuesAreItsOwn) {
  const std::string name = GetParam();
  const double tolerance = name.find("mxfp8") != std::string::npos ? 0x1p-8 : 0x1p-7 + 0x1p-16;
  const Checkpoint model = Checkpoint::open(data(name)), own = Checkpoint::open(data(name + ".dequantized_bf16"));
  model.require_usable();
  std::size_t checked = 0;
  for (const Module& expected : own.modules()) {
    const Module* m = model.find(expected.name);
    ASSERT_TRUE(m != nullptr && m->is_quantized()) << expected.name;
    EXPECT_EQ(m->reading.dialect->name, "comfy-quant");
    ASSERT_EQ(m->reading.extent, expected.reading.extent) << expected.name;
    const Tensor ours = values_of(model, *m), theirs = own.load_tensor(*expected.codes);
    for (std::int64_t i = 0; i < ours.count(); ++i) {
      const double a = static_cast<double>(ours.as<float>()[i]), b = static_cast<double>(element_as_float(theirs, i));
      ASSERT_LE(std::fabs(a - b), tolerance * std::fabs(a)) << expected.name << " " << i;
    }
    ++checked;
  }
  EXPECT_GE(checked, 8u);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Comfy,
                         testing::Values("comfy_wan_float8_e4m3fn", "comfy_wan_mxfp8", "comfy_wan_nvfp4",
                                         "comfy_ltx2_nvfp4"));

// One model, exported twice: block scales in rows, and padded in tiles. Every value is the same, bit for bit.
TEST(ModeloptDiffusers, TilesHoldWhatRowsHold) {
  const Checkpoint rows = Checkpoint::open(data("modelopt_ltx2_rows")),
                   tiles = Checkpoint::open(data("modelopt_ltx2_tiles"));
  rows.require_usable();
  tiles.require_usable();
  std::size_t checked = 0;
  for (const Module& m : rows.modules()) {
    if (!m.is_quantized()) continue;
    const Module* other = tiles.find(m.name);
    ASSERT_NE(other, nullptr) << m.name;
    EXPECT_EQ(other->reading.dialect->name, "modelopt-diffusers");
    ASSERT_EQ(other->reading.extent, m.reading.extent) << m.name;
    EXPECT_EQ(test::first_difference(values_of(rows, m).span(), values_of(tiles, *other).span()), -1) << m.name;
    ++checked;
  }
  EXPECT_EQ(checked, 74u);
}

// Any of them in compressed-tensors' form, and back: the same values, and the exporter's bytes but for its padding.
TEST(SingleFiles, ConvertAndComeBack) {
  Stream stream(kCpu, 1);
  for (const char* name : {"comfy_wan_float8_e4m3fn", "comfy_wan_nvfp4", "comfy_wan_mxfp8", "modelopt_ltx2_tiles"}) {
    const test::TemporaryFolder folder;
    const Checkpoint model = Checkpoint::open(data(name));
    const Dialect* own = nullptr;
    for (const Module& m : model.modules())
      if (m.is_quantized()) own = m.reading.dialect;
    convert_checkpoint(stream, model, folder / "ct", {.dialect = &find_dialect("compressed-tensors")});
    const Checkpoint there = Checkpoint::open(folder / "ct");
    convert_checkpoint(stream, there, folder / "back", {.dialect = own});
    const Checkpoint back = Checkpoint::open(folder / "back");
    for (const Module& m : model.modules()) {
      if (!m.is_quantized()) continue;
      for (const Checkpoint* other : {&there, &back}) {
        ASSERT_NE(other->find(m.name), nullptr) << name << " " << m.name;
        const Tensor a = values_of(model, m), b = values_of(*other, *other->find(m.name));
        ASSERT_EQ(a.count(), b.count());
        for (std::int64_t i = 0; i < a.count(); ++i)
          ASSERT_EQ(a.as<float>()[i], b.as<float>()[i]) << name << " " << m.name;
      }
      const Module& moved = *back.find(m.name);
      EXPECT_EQ(test::first_difference(model.container().read_all(*m.codes), back.container().read_all(*moved.codes)),
                -1)
          << name << " " << m.name;
      EXPECT_EQ(test::first_difference(model.container().read_all(*m.scales), back.container().read_all(*moved.scales)),
                -1)
          << name << " " << m.name;
    }
  }
}

}  // namespace
}  // namespace tessera
