// The writers against the bytes that the exporters' own code made, and the decoders against the values that it reads
// back. Fixtures: tests/data/numerics, described in tests/data/numerics/README.md. Equality of bytes; a NaN equals a
// NaN.
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"
#include "tests/support/fixture.h"

namespace tessera {
namespace {

struct File {
  const char* name;    // of the fixture
  const char* writer;  // whose rule must give its bytes
  Format format;
  bool scales_given = false;  // the fixture's block maxima were searched for: only codes and values follow from it
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const File& file, std::ostream* out) { *out << file.name; }

std::vector<File> files() {
  const Format block_16x32 = block_fp8({32, 16}), block_e8m0 = block_fp8({128, 128}, kE4M3, kE8M0),
               block_16x32_e8m0 = block_fp8({32, 16}, kE4M3, kE8M0);
  return {
      {"ct_nvfp4", "compressed-tensors", find_format("nvfp4")},
      {"ct_mxfp4", "compressed-tensors", find_format("mxfp4")},
      {"ct_mxfp8", "compressed-tensors", find_format("mxfp8")},
      {"ct_fp8_tensor", "compressed-tensors", find_format("fp8")},
      {"ct_fp8_channel", "compressed-tensors", find_format("fp8_channel")},
      {"ct_fp8_block", "compressed-tensors", find_format("fp8_block")},
      {"modelopt_nvfp4", "modelopt", find_format("nvfp4")},
      {"modelopt_nvfp4_static", "modelopt-static", find_format("nvfp4")},
      {"modelopt_nvfp4_four_over_six", "modelopt-static", find_format("nvfp4"), true},
      {"modelopt_w4a8_nvfp4_fp8", "modelopt", find_format("nvfp4_32")},
      {"modelopt_mxfp4", "modelopt", find_format("mxfp4")},
      {"modelopt_mxfp8", "modelopt", find_format("mxfp8")},
      {"modelopt_fp8_tensor", "modelopt", find_format("fp8")},
      {"modelopt_fp8_channel", "modelopt", find_format("fp8_channel")},
      {"modelopt_fp8_block", "modelopt", find_format("fp8_block")},
      {"transformers_fp8_128x128", "transformers", find_format("fp8_block")},
      {"transformers_fp8_16x32", "transformers", block_16x32},
      {"transformers_fp8_128x128_ue8m0", "transformers", block_e8m0},
      {"transformers_fp8_16x32_ue8m0", "transformers", block_16x32_e8m0},
  };
}

class Numerics : public testing::TestWithParam<File> {};

// The maxima that the exporter used: of the fusion group the case belongs to, else those it was given, else none (the
// tensor's own).
QuantizeContext context_of(const test::Fixture& fixture, const std::string& name) {
  QuantizeContext where;
  const std::size_t dot = name.find('.');
  if (dot != std::string::npos) {
    Stream stream(kCpu, 1);
    Maxima group;
    for (const std::string& other : fixture.cases())
      if (other.starts_with(name.substr(0, dot + 1)))
        group = larger_maxima(group, observe(stream, fixture.at(other + ".input")));
    where.maxima = group;
  }
  if (fixture.has(name + ".block_amax")) {
    const Tensor& given = fixture.at(name + ".block_amax");
    where.maxima = Maxima{element_as_float(fixture.at(name + ".global_amax"), 0),
                          {given.as<float>(), given.as<float>() + given.count()}};
  }
  return where;
}

// Stored scales may be F32, BF16 or F16 on disk; E4M3 and E8M0 are bytes.
std::string compare_scales(const QuantizedTensor& q, const Tensor& expected) {
  if (q.scales.count() != expected.count())
    return fmt::format("{} scales, expected {}", q.scales.count(), expected.count());
  for (std::int64_t i = 0; i < q.scales.count(); ++i) {
    if (q.scales.dtype() == DType::kU8) {
      const int ours = q.scales.as<std::uint8_t>()[i], theirs = expected.as<std::uint8_t>()[i];
      const bool both_nan = q.format.scale == kE4M3 && (ours & 0x7f) == 0x7f && (theirs & 0x7f) == 0x7f;
      if (ours != theirs && !both_nan) return fmt::format("scale {}: {:02x}, expected {:02x}", i, ours, theirs);
    } else {
      const float ours = q.scales.as<float>()[i], theirs = element_as_float(expected, i);
      if (std::bit_cast<std::uint32_t>(ours) != std::bit_cast<std::uint32_t>(theirs) &&
          !(is_nan(ours) && is_nan(theirs)))
        return fmt::format("scale {}: {:a}, expected {:a}", i, ours, theirs);
    }
  }
  return "";
}

bool same_code(Element element, std::uint32_t a, std::uint32_t b, bool nan_block) {
  if (a == b) return true;
  const float x = decode(element, a), y = decode(element, b);
  if (is_nan(x) && is_nan(y)) return true;
  // In a block that holds a NaN or an infinity, quotients are NaN; the sign of the zero that E2M1 has for them is the
  // sign that the processor gave the NaN.
  return nan_block && x == 0 && y == 0;
}

std::string compare_codes(const QuantizedTensor& q, const Tensor& expected, const Tensor& x, bool nan_block) {
  if (q.codes.count() != expected.count())
    return fmt::format("{} bytes of codes, expected {}", q.codes.count(), expected.count());
  const int per_byte = 8 / q.format.element.bits();
  for (std::int64_t i = 0; i < q.extent.count(); ++i) {
    const std::int64_t byte = i / per_byte;
    const auto shift = static_cast<int>(4 * (i % per_byte));
    const std::uint32_t mask = per_byte == 1 ? 0xff : 0xf;
    const std::uint32_t ours = q.codes.as<std::uint8_t>()[byte] >> shift & mask;
    const std::uint32_t theirs = expected.as<std::uint8_t>()[byte] >> shift & mask;
    if (!same_code(q.format.element, ours, theirs, nan_block))
      return fmt::format("code at [{}, {}]: {:x}, expected {:x} (x = {:a})", i / q.extent.cols, i % q.extent.cols, ours,
                         theirs, element_as_float(x, i));
  }
  return "";
}

// Bits, but that a NaN equals a NaN.
std::string compare_values(const Tensor& values, const Tensor& expected) {
  if (values.count() != expected.count())
    return fmt::format("{} values, expected {}", values.count(), expected.count());
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const float ours = element_as_float(values, i), theirs = element_as_float(expected, i);
    if (std::bit_cast<std::uint32_t>(ours) != std::bit_cast<std::uint32_t>(theirs) && !(is_nan(ours) && is_nan(theirs)))
      return fmt::format("value {}: {:a}, expected {:a}", i, ours, theirs);
  }
  return "";
}

// The tensor that the fixture's stored parts are.
QuantizedTensor stored_tensor(const test::Fixture& fixture, const std::string& name, const File& file) {
  const Tensor& x = fixture.at(name + ".input");
  QuantizedTensor q = empty_quantized(file.format, x.extent());
  q.sense = find_writer(file.writer).sense;
  q.codes = fixture.at(name + ".codes").reshaped(q.codes.shape());
  const Tensor& scales = fixture.at(name + ".scales");
  if (q.scales.dtype() == DType::kU8) {
    q.scales = scales.reshaped(q.scales.shape());
  } else {
    for (std::int64_t i = 0; i < q.scales.count(); ++i) q.scales.as<float>()[i] = element_as_float(scales, i);
  }
  if (file.format.has_global) q.global = fixture.at(name + ".global").reshaped({1});
  // ModelOpt's class for E2M1 reads code 8 as +0.
  q.reads_minus_zero = !std::string_view(file.name).starts_with("modelopt_") || file.format.scale != kE4M3;
  return q;
}

TEST_P(Numerics, WriterGivesTheExportersBytes) {
  if (GetParam().scales_given) GTEST_SKIP() << "its block maxima were searched for";
  const test::Fixture fixture = test::read_fixture(fmt::format("numerics/{}.safetensors", GetParam().name));
  Stream stream(kCpu, 1);
  int checked = 0;
  for (const std::string& name : fixture.cases()) {
    const Tensor& x = fixture.at(name + ".input");
    const OperandSpec spec{GetParam().format, &find_writer(GetParam().writer)};
    const QuantizeContext where = context_of(fixture, name);
    if (fixture.metadata.contains(name + ".error")) {
      EXPECT_THROW(quantize(stream, x, spec, where), Error) << name << ": the exporter refuses it";
      continue;
    }
    ASSERT_TRUE(fixture.has(name + ".codes")) << name;
    const QuantizedTensor q = quantize(stream, x, spec, where);
    if (fixture.has(name + ".global")) {
      EXPECT_EQ(compare_values(q.global, fixture.at(name + ".global")), "") << name << ": global";
    }
    EXPECT_EQ(compare_scales(q, fixture.at(name + ".scales")), "") << name;
    const bool not_finite = name.starts_with("inf_") || name.starts_with("nan_");
    EXPECT_EQ(compare_codes(q, fixture.at(name + ".codes"), x, not_finite), "") << name;
    ++checked;
  }
  EXPECT_GE(checked, 1);
}

TEST_P(Numerics, DecoderGivesTheExportersValues) {
  const test::Fixture fixture = test::read_fixture(fmt::format("numerics/{}.safetensors", GetParam().name));
  Stream stream(kCpu, 1);
  int checked = 0;
  for (const std::string& name : fixture.cases()) {
    if (!fixture.has(name + ".codes")) continue;
    const Tensor& expected = fixture.at(name + ".dequant");
    EXPECT_EQ(compare_values(dequantize(stream, stored_tensor(fixture, name, GetParam()), expected.dtype()), expected),
              "")
        << name;
    ++checked;
  }
  EXPECT_GE(checked, 1);
}

TEST_P(Numerics, CodesFollowFromTheSourceAndTheStoredScales) {
  const test::Fixture fixture = test::read_fixture(fmt::format("numerics/{}.safetensors", GetParam().name));
  Stream stream(kCpu, 1);
  for (const std::string& name : fixture.cases()) {
    // Blocks that are not finite, and an all-zero tensor, divide by something that the stored scale does not tell. A
    // writer that multiplies knows a factor whose inverse is stored; the inverse of the inverse may differ in the last
    // bit.
    if (!fixture.has(name + ".codes") || name.starts_with("inf_") || name.starts_with("nan_") ||
        name.starts_with("zero_"))
      continue;
    if (find_writer(GetParam().writer).encode(GetParam().format, DType::kF32).multiply && name == "range_f32") continue;
    const Tensor& x = fixture.at(name + ".input");
    const QuantizedTensor stored = stored_tensor(fixture, name, GetParam());
    const QuantizedTensor q = encode_like(stream, x, {GetParam().format, &find_writer(GetParam().writer)}, stored);
    EXPECT_EQ(compare_codes(q, stored.codes, x, false), "") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Exporters, Numerics, testing::ValuesIn(files()),
                         [](const auto& file) { return file.param.name; });

}  // namespace
}  // namespace tessera
