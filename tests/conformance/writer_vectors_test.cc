// The writers on small inputs whose bytes are published or derived by hand: the golden vectors of two NVFP4 and three
// MX rows (written by the exporters' packages; spec/checkpoint-dialects.md 2.9), the table of E8M0 exponents by mode,
// and the rules of exporters that could not be run here.
#include <gtest/gtest.h>

#include <sstream>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"
#include "tests/support/fixture.h"

namespace tessera {
namespace {

// bf16 words in hexadecimal; "Nx W" stands for N times W.
Tensor matrix(std::int64_t rows, const char* words) {
  std::vector<std::uint16_t> values;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    const std::size_t times = word.find('x');
    const std::string hex = times == std::string::npos ? word : word.substr(times + 1);
    const int count = times == std::string::npos ? 1 : std::stoi(word.substr(0, times));
    for (int i = 0; i < count; ++i) values.push_back(static_cast<std::uint16_t>(std::stoul(hex, nullptr, 16)));
  }
  Tensor x(DType::kBf16, {rows, static_cast<std::int64_t>(values.size()) / rows});
  std::copy(values.begin(), values.end(), x.as<std::uint16_t>());
  return x;
}

std::string hex(const Tensor& bytes) {
  std::string text;
  for (std::int64_t i = 0; i < bytes.count(); ++i) text += fmt::format("{:02x}", bytes.as<std::uint8_t>()[i]);
  return text;
}

constexpr const char* kTail = "8000 bf60 b8d2 3c79 bdd2 bea3 3e15 3e5e be48 3ef1 3eab bde1 3e52 bec0 3ddd 3d49 ";
std::string nvfp4_rows() {
  return std::string(
             "3ccb bd00 3ce5 0000 3b2e bad9 3c86 bcaa bd1f bca5 3d55 bd56 bd05 3cbc 3d3e 3da0 16x0000 "
             "35a1 b41a 3427 3507 b586 355b 3568 3601 b538 b46a 3560 3581 b5b0 b602 3598 b5f6 ") +
         kTail;
}
std::string mx_rows() {
  return std::string("3e60 bd00 3ce5 0000 3b2e bad9 3c86 bcaa bd1f bca5 3d55 bd56 bd05 3cbc 3d3e 3da0 ") + kTail +
         "3e4b be80 3e65 0000 3cae bc59 3e06 be2a be9f be25 3ed5 bed6 be85 3e3c 3ebe 3f20 8000 bfd5 b948 3ced be48 "
         "bf1b "
         "3e8e 3ed3 bebe 3f65 3f22 be56 3ec8 bf36 3e52 3dbf 32x0000";
}

struct Vector {
  const char* writer;
  std::uint32_t global;
  const char *scales, *codes;  // low nibble first
};

TEST(WriterVectors, Nvfp4) {
  const Vector vectors[] = {
      {"compressed-tensors", 0x45400000, "6220017e",
       "c40480b3bde64c7600000000000000008 4203b539a33dcd4f008c9325ba4d311"},
      {"modelopt", 0x39aaaaab, "6238017e", "c40480b3bde64c7600000000000000008 4203b539a33dcd4f008c9325ba4d311"},
      {"quark", 0x39aaaaab, "6238017e", "c40400b3bde64c7600000000000000000 4203b539a33dcd4f000c9325ba4d311"},
      {"auto-round", 0x45400001, "6200017e", "c40400b3bde64c7600000000000000000 4203b539a33dcd4f000c9325ba4d311"},
      {"torchao", 0x39aaaaab, "6208087e", "c40480b3bde64c7600000000000000008 000081088009990f808c9325ba4d311"},
      {"comfy", 0x39ab0000, "6200017e", "c40480b3bde64c7600000000000000008 4203b539a33dcd4f808c9325ba4d311"}};
  Stream stream(kCpu, 1);
  const Tensor x = matrix(2, nvfp4_rows().c_str());
  for (const Vector& v : vectors) {
    const QuantizedTensor q = quantize(stream, x, {find_format("nvfp4"), &find_writer(v.writer)});
    std::string codes = v.codes;
    std::erase(codes, ' ');
    EXPECT_EQ(std::bit_cast<std::uint32_t>(q.global.as<float>()[0]), v.global) << v.writer;
    EXPECT_EQ(hex(q.scales), v.scales) << v.writer;
    EXPECT_EQ(hex(q.codes), codes) << v.writer;
  }
}

TEST(WriterVectors, Mxfp4) {
  const std::string none(32, '0');
  const std::string even0 = "8200808088800810e008b9214a93b201", even1 = "a20280919ab31a43f008ca326ba5d312";
  const struct {
    const char *writer, *scales;
    std::string codes;
  } vectors[] = {
      {"compressed-tensors", "7d7d00", even0 + even1 + none},
      {"quark", "7d7d01", "0200000000000010e000b9214a93b201a20200919ab31a43f000ca326ba5d312" + none},
      {"auto-round", "7c7d7e", "8400808089910911f008da326ba5d312" + even1 + none},
      {"torchao:even", "7d7d00", "8200808088800810e808b9214a93b201a20280919ab31a43f808ca326ba5d312" + none},
      {"torchao:ceil", "7d7e00", "8200808088800810e808b9214a93b2019101809199a21921d808a9214993b201" + none},
      {"torchao:rceil", "7d7e00", "8200808088800810e808b9214a93b2019101809199a21921d808a9214993b201" + none},
      {"torchao", "7c7d00", "8400808089910911f808da326ba5d312a20280919ab31a43f808ca326ba5d312" + none},
      // gpt-oss rounds amax / 6 up, and keeps the signs of zeros, as torchao's RCEIL does for numbers like these.
      {"gpt-oss", "7d7e00", "8200808088800810e808b9214a93b2019101809199a21921d808a9214993b201" + none},
      {"gpt-oss:floor", "7c7d00", "8400808089910911f808da326ba5d312a20280919ab31a43f808ca326ba5d312" + none},
      {"mlx:ceil", "7d7e00", "8200808088800810e808b9214a93b2019101809199a21921d808a9214993b201" + none},
  };
  Stream stream(kCpu, 1);
  const Tensor x = matrix(3, mx_rows().c_str());
  for (const auto& v : vectors) {
    const QuantizedTensor q = quantize(stream, x, {find_format("mxfp4"), &find_writer(v.writer)});
    EXPECT_EQ(hex(q.scales), v.scales) << v.writer;
    EXPECT_EQ(hex(q.codes), v.codes) << v.writer;
  }
}

TEST(WriterVectors, Mxfp8) {
  const std::string none(64, '0');
  const std::string floor0 = "6ed856003bb650d3dad25dddd8545c6280fe9550e5f2696eec7773e66df4665d",
                    floor1 = "65e866004bc660e3eae26dede8646c7280fd944fe4f2696dec7672e56cf3655c",
                    ceil0 = "66d04e0033ae48cbd2ca55d5d04c545a80f68d48ddea6166e46f6bde65ec5e55",
                    ceil1 = "5de05e0043be58dbe2da65e5e05c646a80f58c47dcea6165e46e6add64eb5d54";
  const auto without_minus_zero = [](std::string codes) { return codes.replace(32, 2, "00"); };  // of element 16
  const std::string floors = floor0 + floor1 + none;
  const struct {
    const char *writer, *scales;
    std::string codes;
  } vectors[] = {
      {"compressed-tensors", "777700", without_minus_zero(ceil0) + without_minus_zero(floor1) + none},
      {"torchao", "767700", floors},
      {"torchao:even", "767700", floors},
      {"torchao:rceil", "767700", floors},
      {"modelopt", "767700", floors},
      {"comfy", "767700", floors},
      {"torchao:ceil", "777800", ceil0 + ceil1 + none},
      {"auto-round", "767778", without_minus_zero(floor0) + without_minus_zero(floor1) + none},
      {"transformer-engine", "767700", floors},
      {"gpt-oss", "767700", floors},
  };
  Stream stream(kCpu, 1);
  const Tensor x = matrix(3, mx_rows().c_str());
  for (const auto& v : vectors) {
    const QuantizedTensor q = quantize(stream, x, {find_format("mxfp8"), &find_writer(v.writer)});
    EXPECT_EQ(hex(q.scales), v.scales) << v.writer;
    EXPECT_EQ(hex(q.codes), v.codes) << v.writer;
  }
}

int exponent(const char* format, const char* writer, float amax) {
  const ScaleInput<float> input{.amax = amax};
  return static_cast<int>(find_writer(writer).scale(find_format(format), input, 0).bits) - 127;
}

// Unbiased exponents by mode: FP4 even, floor, ceil; FP8 of compressed-tensors, floor, ceil.
TEST(WriterVectors, ExponentsByMode) {
  const struct {
    float amax;
    int fp4[3], fp8[3];
  } rows[] = {{1.f, {-2, -2, -2}, {-8, -8, -8}},   {1.7421875f, {-2, -2, -1}, {-8, -8, -8}},
              {1.75f, {-1, -2, -1}, {-7, -8, -8}}, {3.5f, {0, -1, 0}, {-6, -7, -7}},
              {6.f, {0, 0, 0}, {-6, -6, -6}},      {7.f, {1, 0, 1}, {-5, -6, -6}},
              {448.f, {7, 6, 7}, {1, 0, 0}},       {464.f, {7, 6, 7}, {1, 0, 1}}};
  for (const auto& row : rows) {
    for (const char* even : {"torchao:even", "compressed-tensors", "quark"})
      EXPECT_EQ(exponent("mxfp4", even, row.amax), row.fp4[0]) << even << " " << row.amax;
    for (const char* floor : {"torchao", "quark:floor", "auto-round", "gpt-oss:floor", "ggml"})
      EXPECT_EQ(exponent("mxfp4", floor, row.amax), row.fp4[1]) << floor << " " << row.amax;
    EXPECT_EQ(exponent("mxfp8", "compressed-tensors", row.amax), row.fp8[0]) << row.amax;
    for (const char* floor : {"torchao", "quark:floor", "auto-round", "gpt-oss:floor"})
      EXPECT_EQ(exponent("mxfp8", floor, row.amax), row.fp8[1]) << floor << " " << row.amax;
    // Rounding amax over the largest number up is what the table calls ceil.
    for (const char* up : {"torchao:rceil", "auto-round:rceil", "modelopt", "gpt-oss", "mlx:ceil"}) {
      EXPECT_EQ(exponent("mxfp4", up, row.amax), row.fp4[2]) << up << " " << row.amax;
      EXPECT_EQ(exponent("mxfp8", up, row.amax), row.fp8[2]) << up << " " << row.amax;
    }
  }
}

// torchao's EVEN and Quark's round to the element's own mantissa: other thresholds for FP8 than compressed-tensors'.
TEST(WriterVectors, EvenModesRoundToTheElementsMantissa) {
  for (const char* writer : {"torchao:even", "quark"}) {
    EXPECT_EQ(exponent("mxfp8", writer, 1.9374f), -8) << writer;
    EXPECT_EQ(exponent("mxfp8", writer, 1.9375f), -7) << writer;
  }
  EXPECT_EQ(exponent("mxfp8_e5m2", "torchao:even", 1.8749f), -15);
  EXPECT_EQ(exponent("mxfp8_e5m2", "torchao:even", 1.875f), -14);
}

// Quark takes log2 in the dtype of the weights: just under a power of two bf16 rounds up to it, f32 does not.
TEST(WriterVectors, QuarksLogarithmIsOfTheWeightsDtype) {
  const Writer& writer = find_writer("quark:floor");
  const Format& format = find_format("mxfp4");
  EXPECT_EQ(writer.scale(format, {.amax = 0.12451171875f, .source = DType::kBf16}, 0).bits, 127u - 3 - 2);
  EXPECT_EQ(writer.scale(format, {.amax = 0.12451171875f, .source = DType::kF32}, 0).bits, 127u - 4 - 2);
  EXPECT_EQ(writer.scale(format, {.amax = 0, .source = DType::kBf16}, 0).bits, 0x68u);
}

// It exports no MXFP8, but rounds weights to it in memory: its scales as numbers, and the values that come of them.
// Powers under 2^-126 are none of a byte.
TEST(WriterVectors, QuarkRoundsToMxfp8InMemory) {
  Stream stream(kCpu, 1);
  for (const std::string mode : {"even", "floor", "ceil"}) {
    const test::Fixture fixture = test::read_fixture("numerics/quark_mxfp8_" + mode + ".safetensors");
    const OperandSpec spec{find_format("mxfp8"), &find_writer(mode == "even" ? "quark" : "quark:" + mode)};
    for (const std::string& name : fixture.cases()) {
      if (name.starts_with("inf_") || name.starts_with("nan_")) continue;
      const QuantizedTensor q = quantize(stream, fixture.at(name + ".input"), spec);
      const Tensor& scales = fixture.at(name + ".scales");
      const Tensor& expected = fixture.at(name + ".dequant");
      const Tensor values = dequantize(stream, q, expected.dtype());
      for (std::int64_t i = 0; i < values.count(); ++i) {
        const float scale = element_as_float(scales, i / 32);
        if (scale < 0x1p-126f) continue;
        ASSERT_EQ(decode(kE8M0, q.scales.as<std::uint8_t>()[i / 32]), scale)
            << mode << " " << name << " block " << i / 32;
        ASSERT_EQ(element_as_float(values, i), element_as_float(expected, i)) << mode << " " << name << " value " << i;
      }
    }
  }
}

// MLX rounds log2 to the nearest integer: the square root of two divides.
TEST(WriterVectors, MlxRoundsTheLogarithm) {
  EXPECT_EQ(exponent("mxfp4", "mlx", 6.f * 1.414f), 0);
  EXPECT_EQ(exponent("mxfp4", "mlx", 6.f * 1.415f), 1);
  EXPECT_EQ(exponent("mxfp4", "mlx:ceil", 6.f), 0);
  EXPECT_EQ(exponent("mxfp4", "mlx:ceil", 6.f * 1.001f), 1);
  EXPECT_EQ(exponent("mxfp4", "mlx", 0.f), -127);
  EXPECT_EQ(exponent("mxfp4", "mlx", kInfinity), 128);  // byte 255
}

// LTX-2 multiplies by 448 / amax and stores the inverse of that.
TEST(WriterVectors, Ltx2StoresTheInverseOfItsEncodingScale) {
  const ScaleChoice<float> choice = find_writer("ltx2").scale(find_format("fp8"), {.amax = 0.3f}, 0);
  volatile float encoding = 448.f / 0.3f, stored = 1.f / encoding;
  EXPECT_EQ(choice.operand, encoding);
  EXPECT_EQ(std::bit_cast<float>(choice.bits), stored);
}

}  // namespace
}  // namespace tessera
