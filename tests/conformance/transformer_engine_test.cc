// The writer transformer-engine against what Transformer Engine's own references made: tests/data/numerics/te_*, cases
// of the training fixtures. Equality of bits; where x is zero, E2M1's two zeros are one (its torch reference and its
// CUDA conversion differ there).
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/json.h"
#include "tessera/kernels/quantize.h"
#include "tests/support/fixture.h"
#include "tests/support/random_matrix.h"

namespace tessera {
namespace {

struct Case {
  std::string name, kind, fp8;
  bool pow2 = false;
  std::int64_t block_rows = 0;
};

class TransformerEngine : public testing::Test {
 protected:
  void open(const char* file) {
    fixture_ = test::read_fixture(fmt::format("numerics/{}.safetensors", file));
    const Json list = parse_json(fixture_.metadata.at("cases"));
    for (const Json& c : list.as_array()) {
      Case one{.name = c.string_or("case", ""), .kind = c.string_or("kind", ""), .fp8 = c.string_or("fp8", "")};
      if (const Json* pow2 = c.find("pow2")) one.pow2 = pow2->as_bool();
      if (const Json* block = c.find("block")) one.block_rows = block->as_array()[0].as_int64();
      cases_.push_back(one);
    }
    ASSERT_FALSE(cases_.empty());
  }
  const Tensor& at(const Case& c, const char* part) const { return fixture_.at(c.name + "." + part); }
  bool has(const Case& c, const char* part) const { return fixture_.has(c.name + "." + part); }

  static std::string element_suffix(const Case& c) { return c.fp8 == "e5m2" ? "_e5m2" : ""; }
  // Maxima as Transformer Engine takes them: NaNs do not count.
  static Maxima maxima_without_nan(const Tensor& x, const Format& format) {
    Maxima result;
    Stream stream(kCpu, 1);
    Tensor numbers(DType::kF32, x.shape());
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const float value = element_as_float(x, i);
      numbers.as<float>()[i] = is_nan(value) ? 0.f : value;
    }
    return observe(stream, numbers, format);
  }

  void expect_codes(const Case& c, const QuantizedTensor& q, const Tensor& expected, const Tensor& x) const {
    ASSERT_EQ(q.codes.count(), expected.count()) << c.name;
    for (std::int64_t i = 0; i < q.extent.count(); ++i) {
      const bool nibble = q.format.element.bits() == 4;
      const auto code = [&](const Tensor& t) {
        const int byte = t.as<std::uint8_t>()[nibble ? i / 2 : i];
        return nibble ? byte >> (4 * (i % 2)) & 15 : byte;
      };
      const int ours = code(q.codes), theirs = code(expected);
      if (nibble && element_as_float(x, i) == 0 && (ours & 7) == 0 && (theirs & 7) == 0) continue;
      const bool both_nan = is_nan(decode(q.format.element, static_cast<std::uint32_t>(ours))) &&
                            is_nan(decode(q.format.element, static_cast<std::uint32_t>(theirs)));
      ASSERT_TRUE(ours == theirs || both_nan)
          << c.name << " element " << i << ": " << ours << ", expected " << theirs << ", x " << element_as_float(x, i);
    }
  }
  void expect_bytes(const Case& c, const Tensor& ours, const Tensor& theirs) const {
    EXPECT_EQ(test::first_difference(ours.span(), theirs.span()), -1) << c.name;
  }
  void expect_values(const Case& c, const QuantizedTensor& q) {
    if (!has(c, "dq")) return;
    const Tensor values = dequantize(stream_, q);
    for (std::int64_t i = 0; i < values.count(); ++i)
      ASSERT_EQ(values.as<float>()[i], at(c, "dq").as<float>()[i]) << c.name << " value " << i;
  }

  test::Fixture fixture_;
  std::vector<Case> cases_;
  Stream stream_{kCpu, 1};
};

// A whole that knows the maximum of its tensor: the fixture's, which of a shard is the whole's.
QuantizeContext with_maximum(const Tensor& amax) {
  QuantizeContext where;
  where.maxima = Maxima{element_as_float(amax, 0), {}};
  return where;
}

TEST_F(TransformerEngine, Nvfp4) {
  open("te_nvfp4");
  for (const Case& c : cases_) {
    if (c.kind != "1d" && c.kind != "2d") continue;
    const Format& format = find_format(c.kind == "2d" ? "nvfp4_square" : "nvfp4");
    const OperandSpec spec{format, &find_writer("transformer-engine")};
    const Tensor& x = at(c, "x");
    QuantizeContext where = with_maximum(at(c, "amax_row"));
    const Maxima blocks = maxima_without_nan(x, format);
    where.maxima->blocks = blocks.blocks;
    const QuantizedTensor q = quantize(stream_, x, spec, where);
    EXPECT_EQ(q.global.as<float>()[0], at(c, "amax_row").as<float>()[0]) << c.name;
    // Its square blocks' scales are written once for each row.
    const std::int64_t each = format.block.rows, across = q.scales.shape()[1];
    const Tensor& scales = at(c, "s");
    ASSERT_EQ(scales.count(), q.scales.count() * each) << c.name;
    for (std::int64_t i = 0; i < scales.count(); ++i) {
      const int ours = q.scales.as<std::uint8_t>()[i / across / each * across + i % across];
      ASSERT_EQ(ours, scales.as<std::uint8_t>()[i]) << c.name << " scale " << i;
    }
    expect_codes(c, q, at(c, "q"), x);
    expect_values(c, q);
    if (!has(c, "q_t")) continue;
    const Tensor xt = test::transpose(x);
    QuantizeContext other = with_maximum(at(c, "amax_col"));
    other.maxima->blocks = maxima_without_nan(xt, format).blocks;
    expect_codes(c, quantize(stream_, xt, spec, other), at(c, "q_t"), xt);
  }
}

TEST_F(TransformerEngine, Nvfp4AfterTheHadamardTransform) {
  open("te_nvfp4");
  int checked = 0;
  for (const Case& c : cases_) {
    if (c.kind != "1d_rht") continue;
    const Tensor& x = at(c, "rht_xt");
    const QuantizedTensor q = quantize(stream_, x, {find_format("nvfp4"), &find_writer("transformer-engine")},
                                       with_maximum(at(c, "amax_col")));
    expect_bytes(c, q.scales, at(c, "s_t"));
    expect_codes(c, q, at(c, "q_t"), x);
    ++checked;
  }
  EXPECT_GE(checked, 2);
}

// four-over-six is Transformer Engine's variant with a range of 6 * 256.
TEST_F(TransformerEngine, FourOverSix) {
  open("te_nvfp4");
  int checked = 0;
  for (const Case& c : cases_) {
    if (c.kind != "4o6_mae_256") continue;
    const Tensor& x = at(c, "x");
    const QuantizedTensor q = quantize(stream_, x, {find_format("nvfp4"), &find_writer("four-over-six")});
    expect_bytes(c, q.scales, at(c, "s"));
    // Under a scale of zero it writes the largest codes and we write zeros: both read as zero.
    Tensor expected(DType::kU8, at(c, "q").shape());
    for (std::int64_t i = 0; i < expected.count(); ++i)
      expected.as<std::uint8_t>()[i] = q.scales.as<std::uint8_t>()[i / 8] == 0 ? 0 : at(c, "q").as<std::uint8_t>()[i];
    expect_codes(c, q, expected, x);
    ++checked;
  }
  EXPECT_GE(checked, 4);
}

TEST_F(TransformerEngine, Mxfp8) {
  open("te_mxfp8");
  for (const Case& c : cases_) {
    const Format& format = find_format("mxfp8" + element_suffix(c));
    const Tensor& x = at(c, "x");
    QuantizeContext where;
    where.maxima = maxima_without_nan(x, format);
    const QuantizedTensor q = quantize(stream_, x, {format, &find_writer("transformer-engine")}, where);
    expect_bytes(c, q.scales, at(c, "s"));
    expect_codes(c, q, at(c, "q"), x);
  }
}

TEST_F(TransformerEngine, Fp8Blocks) {
  open("te_fp8_block");
  for (const Case& c : cases_) {
    const bool square = c.block_rows == 128;
    const Format& format = find_format((square ? "fp8_block" : "fp8_1x128") + element_suffix(c));
    const Tensor& x = at(c, "x");
    QuantizeContext where;
    where.maxima = maxima_without_nan(x, format);
    if (has(c, "tile_amax"))  // of the whole that this piece is cut from
      where.maxima->blocks.assign(at(c, "tile_amax").as<float>(), at(c, "tile_amax").as<float>() + 2);
    const Writer& writer = find_writer(c.pow2 ? "transformer-engine" : "transformer-engine:fp32");
    const QuantizedTensor q = quantize(stream_, x, {format, &writer}, where);
    // It stores the scales of 1x128 blocks transposed and pads rows to a multiple of four.
    const bool special = has(c, "scale_inv");
    const Tensor& scales = special ? at(c, "scale_inv") : at(c, "s");
    const std::int64_t padded = special ? 1 : scales.shape()[1];
    for (std::int64_t r = 0; r < q.scales.shape()[0]; ++r)
      for (std::int64_t k = 0; k < q.scales.shape()[1]; ++k)
        ASSERT_EQ(std::bit_cast<std::uint32_t>(q.scales.as<float>()[r * q.scales.shape()[1] + k]),
                  scales.as<std::uint32_t>()[square ? r * padded + k : k * padded + r])
            << c.name << " scale " << r << ", " << k;
    expect_codes(c, q, at(c, "q"), x);
    expect_values(c, q);
  }
}

TEST_F(TransformerEngine, Fp8OfAWholeTensor) {
  open("te_fp8_current");
  for (const Case& c : cases_) {
    const Writer& writer = find_writer(c.pow2 ? "transformer-engine:pow2" : "transformer-engine");
    const QuantizedTensor q =
        quantize(stream_, at(c, "x"), {find_format("fp8" + element_suffix(c)), &writer}, with_maximum(at(c, "amax")));
    expect_bytes(c, q.scales, at(c, "scale_inv"));
    expect_codes(c, q, at(c, "q"), at(c, "x"));
  }
}

}  // namespace
}  // namespace tessera
