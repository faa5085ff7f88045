// The writers against the bytes that the exporters' own code made, and the decoders against the values that it reads
// back. Fixtures: tests/data/numerics, described in tests/data/numerics/README.md. Equality of bytes; a NaN equals a
// NaN.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

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
  const char* mode = "";      // before the names of parts, in a fixture of several modes
  bool tiled = false;         // rows are padded, scales stand in tiles of 128 x 4
  bool high_first = false;    // of two codes in a byte the first is the high nibble
  bool loose = false;         // each code in a byte of its own
  bool own_values = false;    // the fixture's values are those of the writer's memory, not of what it stores
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const File& file, std::ostream* out) { *out << file.name << " " << file.mode; }

// torchao's MX: four modes of each element, on one input.
std::vector<File> torchao_mx_files() {
  return {
      {.name = "torchao_mx_e2m1", .writer = "torchao", .format = find_format("mxfp4"), .mode = "floor_"},
      {.name = "torchao_mx_e2m1", .writer = "torchao:ceil", .format = find_format("mxfp4"), .mode = "ceil_"},
      {.name = "torchao_mx_e2m1", .writer = "torchao:even", .format = find_format("mxfp4"), .mode = "even_"},
      {.name = "torchao_mx_e2m1", .writer = "torchao:rceil", .format = find_format("mxfp4"), .mode = "rceil_"},
      {.name = "torchao_mx_e2m3",
       .writer = "torchao",
       .format = find_format("mxfp6_e2m3"),
       .mode = "floor_",
       .loose = true},
      {.name = "torchao_mx_e2m3",
       .writer = "torchao:ceil",
       .format = find_format("mxfp6_e2m3"),
       .mode = "ceil_",
       .loose = true},
      {.name = "torchao_mx_e2m3",
       .writer = "torchao:even",
       .format = find_format("mxfp6_e2m3"),
       .mode = "even_",
       .loose = true},
      {.name = "torchao_mx_e2m3",
       .writer = "torchao:rceil",
       .format = find_format("mxfp6_e2m3"),
       .mode = "rceil_",
       .loose = true},
      {.name = "torchao_mx_e3m2",
       .writer = "torchao",
       .format = find_format("mxfp6_e3m2"),
       .mode = "floor_",
       .loose = true},
      {.name = "torchao_mx_e3m2",
       .writer = "torchao:ceil",
       .format = find_format("mxfp6_e3m2"),
       .mode = "ceil_",
       .loose = true},
      {.name = "torchao_mx_e3m2",
       .writer = "torchao:even",
       .format = find_format("mxfp6_e3m2"),
       .mode = "even_",
       .loose = true},
      {.name = "torchao_mx_e3m2",
       .writer = "torchao:rceil",
       .format = find_format("mxfp6_e3m2"),
       .mode = "rceil_",
       .loose = true},
      {.name = "torchao_mx_e4m3", .writer = "torchao", .format = find_format("mxfp8"), .mode = "floor_"},
      {.name = "torchao_mx_e4m3", .writer = "torchao:ceil", .format = find_format("mxfp8"), .mode = "ceil_"},
      {.name = "torchao_mx_e4m3", .writer = "torchao:even", .format = find_format("mxfp8"), .mode = "even_"},
      {.name = "torchao_mx_e4m3", .writer = "torchao:rceil", .format = find_format("mxfp8"), .mode = "rceil_"},
      {.name = "torchao_mx_e5m2", .writer = "torchao", .format = find_format("mxfp8_e5m2"), .mode = "floor_"},
      {.name = "torchao_mx_e5m2", .writer = "torchao:ceil", .format = find_format("mxfp8_e5m2"), .mode = "ceil_"},
      {.name = "torchao_mx_e5m2", .writer = "torchao:even", .format = find_format("mxfp8_e5m2"), .mode = "even_"},
      {.name = "torchao_mx_e5m2", .writer = "torchao:rceil", .format = find_format("mxfp8_e5m2"), .mode = "rceil_"},
  };
}

std::vector<File> single_mode_files() {
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
      {"torchao_nvfp4", "torchao", find_format("nvfp4")},
      {"torchao_nvfp4_single_level", "torchao:single-level", find_format("nvfp4")},
      {"torchao_float8_tensor", "torchao", find_format("fp8")},
      {"torchao_float8_row", "torchao", find_format("fp8_channel")},
      {.name = "autoround_nvfp4", .writer = "auto-round", .format = find_format("nvfp4"), .own_values = true},
      {.name = "autoround_mxfp4", .writer = "auto-round", .format = find_format("mxfp4"), .own_values = true},
      {.name = "autoround_mxfp8", .writer = "auto-round", .format = find_format("mxfp8"), .own_values = true},
      {.name = "autoround_mxfp4_rceil",
       .writer = "auto-round:rceil",
       .format = find_format("mxfp4"),
       .own_values = true},
      {.name = "autoround_mxfp8_rceil",
       .writer = "auto-round:rceil",
       .format = find_format("mxfp8"),
       .own_values = true},
      {.name = "autoround_fp8_tensor", .writer = "auto-round", .format = find_format("fp8"), .own_values = true},
      {.name = "autoround_fp8_channel",
       .writer = "auto-round",
       .format = find_format("fp8_channel"),
       .own_values = true},
      {.name = "autoround_fp8_block", .writer = "auto-round", .format = find_format("fp8_block"), .own_values = true},
      {"quark_nvfp4", "quark", find_format("nvfp4")},
      {"quark_mxfp4_even", "quark", find_format("mxfp4")},
      {"quark_mxfp6_e2m3_even", "quark", find_format("mxfp6_e2m3")},
      {"quark_mxfp6_e3m2_even", "quark", find_format("mxfp6_e3m2")},
      {"quark_mxfp4_floor", "quark:floor", find_format("mxfp4")},
      {"quark_mxfp4_ceil", "quark:ceil", find_format("mxfp4")},
      {"quark_fp8_tensor", "quark", find_format("fp8")},
      {"quark_fp8_channel", "quark", find_format("fp8_channel")},
      {.name = "comfy_nvfp4", .writer = "comfy", .format = find_format("nvfp4"), .tiled = true, .high_first = true},
      {.name = "comfy_mxfp8", .writer = "comfy", .format = find_format("mxfp8"), .tiled = true},
      {"comfy_fp8_tensor", "comfy", find_format("fp8")},
  };
}

std::vector<File> files() {
  std::vector<File> all = single_mode_files();
  for (const File& file : torchao_mx_files()) all.push_back(file);
  return all;
}

// One case of a fixture, laid out as a QuantizedTensor is.
struct Parts {
  Tensor codes, scales;
  std::optional<Tensor> global, values;
};

Tensor first_rows(const Tensor& t, std::int64_t rows) { return t.slice(0, rows); }

Tensor low_nibble_first(const Tensor& packed) {
  Tensor result(DType::kU8, packed.shape());
  for (std::int64_t i = 0; i < packed.count(); ++i) {
    const std::uint8_t byte = packed.as<std::uint8_t>()[i];
    result.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(byte >> 4 | byte << 4);
  }
  return result;
}

// Scales of the 128 x 4 tiles of cuBLAS, in rows.
Tensor untiled(const Tensor& tiles, Extent scales) {
  Tensor result(DType::kU8, {scales.rows, scales.cols});
  const std::int64_t across = ceil_div(scales.cols, 4);
  for (std::int64_t r = 0; r < scales.rows; ++r)
    for (std::int64_t c = 0; c < scales.cols; ++c)
      result.as<std::uint8_t>()[r * scales.cols + c] =
          tiles.as<std::uint8_t>()[(r / 128 * across + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4];
  return result;
}

// Codes of a byte each, packed as rows of the format are.
Tensor packed(const Tensor& codes, const Format& format) {
  const Extent extent = codes.extent();
  Tensor result(DType::kU8, {extent.rows, row_bytes(format, extent.cols)});
  for (std::int64_t r = 0; r < extent.rows; ++r)
    for (std::int64_t c = 0; c < extent.cols; ++c)
      append_code(result.as<std::uint8_t>() + r * row_bytes(format, extent.cols), format.element.bits(), c,
                  codes.as<std::uint8_t>()[r * extent.cols + c]);
  return result;
}

Parts parts_of(const test::Fixture& fixture, const std::string& name, const File& file) {
  const std::string stem = name + "." + file.mode;
  const Extent extent = fixture.at(name + ".input").extent();
  Parts parts{fixture.at(stem + "codes"), fixture.at(stem + "scales"), {}, {}};
  if (fixture.has(name + ".global")) parts.global = fixture.at(name + ".global").reshaped({1});
  if (fixture.has(stem + "dequant")) parts.values = fixture.at(stem + "dequant");
  if (file.tiled) {
    parts.codes = first_rows(parts.codes, extent.rows);
    parts.scales = untiled(parts.scales, scale_extent(file.format, extent));
    if (parts.values) parts.values = first_rows(*parts.values, extent.rows);
  }
  if (file.high_first) parts.codes = low_nibble_first(parts.codes);
  if (file.loose) parts.codes = packed(parts.codes, file.format);
  return parts;
}

// Rows of the fixtures end on a byte, so that an element has one place among all codes.
void clear_code(QuantizedTensor& q, std::int64_t i) {
  const int bits = q.format.element.bits();
  for (std::int64_t bit = i * bits; bit < (i + 1) * bits; ++bit) {
    std::uint8_t& byte = q.codes.as<std::uint8_t>()[bit / 8];
    byte = static_cast<std::uint8_t>(byte & ~(1u << (bit % 8)));
  }
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

// The quotients of which the codes of x were made are NaN in some places: there E2M1, E2M3 and E3M2 have no code to
// give. The sign that is stored is the one that the processor gave the NaN. Where torch's bit arithmetic makes the
// code, the NaN's payload decides whether it is half of the highest exponent (4 of E2M1) or a quiet NaN's mantissa
// under the exponent before that (3); where the NaN's first bits are kept (7), the payload is all that follows the
// quiet one.
bool is_nan_without_code(const QuantizedTensor& q, std::uint32_t ours, std::uint32_t theirs, float quotient) {
  if (q.format.element.specials != Specials::kNone || !is_nan(quotient)) return false;
  const Element& e = q.format.element;
  const std::uint32_t a = ours & ~e.sign_bit(), b = theirs & ~e.sign_bit(), half = e.sign_bit() >> 1;
  const std::uint32_t kept = ((1u << e.exponent_bits) - 1u) << e.mantissa_bits | 1u << (e.mantissa_bits - 1);
  return a == b || (a == kept && (b & kept) == kept) ||
         (a == half && b == half - (1u << e.mantissa_bits) + (1u << (e.mantissa_bits - 1)));
}

// Quark's packing makes the least number of the highest exponent (4 of E2M1) of an infinity that its rounding had left
// one.
bool is_infinity_of_quark(const QuantizedTensor& q, float x, std::uint32_t theirs) {
  const Element& e = q.format.element;
  if (e.specials != Specials::kNone || magnitude(x) != kInfinity) return false;
  return (theirs & ~e.sign_bit()) == ((1u << e.exponent_bits) - 1u) << e.mantissa_bits;
}

// The operand of each element's block, as the writer takes it from the block's maximum.
std::vector<float> operands(const QuantizedTensor& q, const Tensor& x, const File& file,
                            const std::optional<Maxima>& maxima) {
  Stream stream(kCpu, 1);
  const Maxima observed = observe(stream, x, q.format);
  const bool given = maxima.has_value() && !maxima->blocks.empty();
  const Block block = block_in(q.format, q.extent);
  const std::int64_t across = scale_extent(q.format, q.extent).cols;
  std::vector<float> result;
  for (std::int64_t r = 0; r < q.extent.rows; ++r)
    for (std::int64_t c = 0; c < q.extent.cols; ++c) {
      const auto b = static_cast<std::size_t>(r / block.rows * across + c / block.cols);
      const ScaleInput<float> input{.amax = given ? maxima->blocks[b] : observed.blocks[b],
                                    .global = q.format.has_global ? q.global.as<float>()[0] : 1.f,
                                    .tensor_amax = maxima ? maxima->tensor : observed.tensor,
                                    .source = x.dtype()};
      result.push_back(find_writer(file.writer).scale(q.format, input, 0).operand);
    }
  return result;
}
// What the codes of q were made of: x over (or times) the operand of its block.
std::vector<float> quotients(const QuantizedTensor& q, const Tensor& x, const File& file,
                             const std::optional<Maxima>& maxima) {
  std::vector<float> result = operands(q, x, file, maxima);
  const bool multiply = find_writer(file.writer).encode(q.format, x.dtype()).multiply;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const float value = element_as_float(x, static_cast<std::int64_t>(i));
    result[i] = multiply ? value * result[i] : value / result[i];
  }
  return result;
}

bool same_code(Element element, std::uint32_t a, std::uint32_t b) {
  return a == b || (is_nan(decode(element, a)) && is_nan(decode(element, b)));
}

// `quotients`: of each element, or none where NaN quotients are not to be looked for.
std::string compare_codes(const QuantizedTensor& q, const Tensor& expected, const Tensor& x,
                          const std::vector<float>& quotients) {
  if (q.codes.count() != expected.count())
    return fmt::format("{} bytes of codes, expected {}", q.codes.count(), expected.count());
  const int bits = q.format.element.bits();
  for (std::int64_t i = 0; i < q.extent.count(); ++i) {
    const std::uint32_t ours = load_code(q.codes.as<std::uint8_t>(), bits, i);
    const std::uint32_t theirs = load_code(expected.as<std::uint8_t>(), bits, i);
    if (same_code(q.format.element, ours, theirs)) continue;
    const bool infinite = is_infinity_of_quark(q, element_as_float(x, i), theirs);
    if (!quotients.empty() &&
        (infinite || is_nan_without_code(q, ours, theirs, quotients[static_cast<std::size_t>(i)])))
      continue;
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
QuantizedTensor stored_tensor(const Parts& parts, Extent extent, const File& file) {
  QuantizedTensor q = empty_quantized(file.format, extent);
  q.sense = find_writer(file.writer).sense;
  q.codes = parts.codes.reshaped(q.codes.shape());
  const Tensor& scales = parts.scales;
  if (q.scales.dtype() == DType::kU8) {
    q.scales = scales.reshaped(q.scales.shape());
  } else {
    for (std::int64_t i = 0; i < q.scales.count(); ++i) q.scales.as<float>()[i] = element_as_float(scales, i);
  }
  if (file.format.has_global) q.global = parts.global ? *parts.global : scalar(1).reshaped({1});
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
    const Parts parts = parts_of(fixture, name, GetParam());
    const QuantizedTensor q = quantize(stream, x, spec, where);
    if (parts.global) {
      EXPECT_EQ(compare_values(q.global, *parts.global), "") << name << ": global";
    }
    EXPECT_EQ(compare_scales(q, parts.scales), "") << name;
    EXPECT_EQ(compare_codes(q, parts.codes, x, quotients(q, x, GetParam(), where.maxima)), "") << name;
    ++checked;
  }
  EXPECT_GE(checked, 1);
}

// comfy-kitchen reads E8M0's 0 as the number 0, which is put here; and multiplies NVFP4 of 16 bits in bf16, which no
// reader need imitate: false.
bool read_as_comfy_does(const QuantizedTensor& q, Tensor& values) {
  if (q.format.scale != kE8M0) return values.dtype() == DType::kF32;
  const std::size_t size = values.bytes() / static_cast<std::size_t>(values.count());
  for (std::int64_t i = 0; i < values.count(); ++i) {
    const std::uint8_t code = q.codes.as<std::uint8_t>()[i];
    if (q.scales.as<std::uint8_t>()[i / q.format.block.cols] != 0 || (code & 0x7f) == 0x7f) continue;
    const bool minus = (code & 0x80) != 0;
    std::memset(values.data() + static_cast<std::size_t>(i) * size, 0, size);
    if (minus) values.data()[static_cast<std::size_t>(i + 1) * size - 1] = std::byte{0x80};  // -0
  }
  return true;
}

TEST_P(Numerics, DecoderGivesTheExportersValues) {
  if (GetParam().own_values) GTEST_SKIP() << "its values are those of its memory: packing rounds once more";
  const test::Fixture fixture = test::read_fixture(fmt::format("numerics/{}.safetensors", GetParam().name));
  Stream stream(kCpu, 1);
  int checked = 0;
  for (const std::string& name : fixture.cases()) {
    if (fixture.metadata.contains(name + ".error")) continue;
    const Parts parts = parts_of(fixture, name, GetParam());
    if (!parts.values) continue;
    const QuantizedTensor stored = stored_tensor(parts, fixture.at(name + ".input").extent(), GetParam());
    Tensor values = dequantize(stream, stored, parts.values->dtype());
    if (GetParam().tiled && !read_as_comfy_does(stored, values)) continue;
    EXPECT_EQ(compare_values(values, *parts.values), "") << name;
    ++checked;
  }
  if (checked == 0) GTEST_SKIP() << "the fixture has no values of this mode";
}

// Where the stored scale tells what the writer divided by: some round it once more as they store it, or multiply with a
// factor whose inverse they store.
TEST_P(Numerics, CodesFollowFromTheSourceAndTheStoredScales) {
  const test::Fixture fixture = test::read_fixture(fmt::format("numerics/{}.safetensors", GetParam().name));
  Stream stream(kCpu, 1);
  std::int64_t checked = 0;
  for (const std::string& name : fixture.cases()) {
    // Blocks that are not finite, and an all-zero tensor, divide by something that the stored scale does not tell.
    if (fixture.metadata.contains(name + ".error") || name.starts_with("inf_") || name.starts_with("nan_") ||
        name.starts_with("zero_"))
      continue;
    const Tensor& x = fixture.at(name + ".input");
    const Writer& writer = find_writer(GetParam().writer);
    QuantizedTensor stored = stored_tensor(parts_of(fixture, name, GetParam()), x.extent(), GetParam());
    QuantizedTensor q = encode_like(stream, x, {GetParam().format, &writer}, stored);
    const std::vector<float> used = operands(stored, x, GetParam(), context_of(fixture, name).maxima);
    const Encode how = writer.encode(stored.format, x.dtype());
    const Block block = block_in(stored.format, stored.extent);
    const std::int64_t across = scale_extent(stored.format, stored.extent).cols;
    for (std::int64_t i = 0; i < stored.extent.count(); ++i) {
      const std::int64_t b = i / stored.extent.cols / block.rows * across + i % stored.extent.cols / block.cols;
      const std::uint32_t bits = stored.scales.dtype() == DType::kU8 ? stored.scales.as<std::uint8_t>()[b]
                                                                     : stored.scales.as<std::uint32_t>()[b];
      const float global = stored.format.has_global ? stored.global.as<float>()[0] : 1.f;
      const float given =
          given_operand(stored.format, how, stored.sense, decode_scale_bits<float>(stored.format, bits), global);
      if (!GetParam().scales_given && given != used[static_cast<std::size_t>(i)]) {
        clear_code(q, i);
        clear_code(stored, i);
      } else {
        ++checked;
      }
    }
    EXPECT_EQ(compare_codes(q, stored.codes, x, {}), "") << name;
  }
  EXPECT_GT(checked, 1000);
}

INSTANTIATE_TEST_SUITE_P(Exporters, Numerics, testing::ValuesIn(files()), [](const auto& file) {
  const std::string mode = file.param.mode;  // "floor_"
  return file.param.name + (mode.empty() ? "" : "_" + mode.substr(0, mode.size() - 1));
});

}  // namespace
}  // namespace tessera
