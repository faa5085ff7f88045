// Law 5, idempotence: encoding the values of q under q's own scales and global gives q's codes (zeros by value), for
// every writer. With fresh block scales under the old global: q's bytes for NVFP4 max-rule writers where scales are
// 2^-6 or more.
#include <gtest/gtest.h>

#include <cstring>

#include "tessera/kernels/quantize.h"
#include "tests/laws/specs.h"
#include "tests/support/random_matrix.h"

namespace tessera {
namespace {

class Idempotence : public testing::TestWithParam<OperandSpec> {};

constexpr Extent kExtent{256, 256};

float value_at(const QuantizedTensor& q, std::int64_t i) {
  // Rows of the extents here end on a byte.
  return decode(q.format.element, load_code(q.codes.as<std::uint8_t>(), q.format.element.bits(), i));
}

TEST_P(Idempotence, ItsOwnScalesGiveItsOwnCodes) {
  Stream stream(kCpu, 2);
  const OperandSpec& spec = GetParam();
  for (const DType dtype : {DType::kBf16, DType::kF32, DType::kF16}) {
    const Block b = block_in(spec.format, kExtent);
    const Extent extent = spec.writer->whole_blocks_only ? Extent{b.rows, b.cols * 2} : kExtent;
    const QuantizedTensor q = quantize(stream, test::random_matrix(dtype, extent, 4), spec);
    const Tensor values = dequantize(stream, q), again = dequantize(stream, encode_like(stream, values, spec, q));
    // The scales are the same, so equal values are equal codes, but for zeros. Some writers give NaN for zeros.
    for (std::int64_t i = 0; i < extent.count(); ++i)
      ASSERT_TRUE(again.as<float>()[i] == values.as<float>()[i] ||
                  (is_nan(again.as<float>()[i]) && is_nan(values.as<float>()[i])))
          << "element " << i << ": " << again.as<float>()[i] << " instead of " << values.as<float>()[i];
  }
}

// A block whose stored scale is zero decodes to zeros whatever its codes: they are zeros too, and not what a division
// by zero leaves.
TEST_P(Idempotence, AScaleOfZeroGivesCodesOfZero) {
  const OperandSpec& spec = GetParam();
  if (spec.format.scale == kE8M0) GTEST_SKIP() << "E8M0 has no zero";
  const Block b = block_in(spec.format, kExtent);
  const Extent extent = spec.writer->whole_blocks_only ? Extent{b.rows, b.cols * 2} : Extent{33, 160};
  for (const CpuTier tier : {CpuTier::kReference, best_cpu_tier()}) {
    Stream stream(kCpu, 1);
    stream.set_cpu_tier(tier);
    for (const DType dtype : {DType::kBf16, DType::kF32}) {
      QuantizedTensor q = empty_quantized(spec.format, extent);
      q.sense = spec.writer->sense;
      std::memset(q.scales.data(), 0, q.scales.bytes());
      if (spec.format.has_global) q.global = scalar(1.5f).reshaped({1});
      const QuantizedTensor codes = encode_like(stream, test::random_matrix(dtype, extent, 6), spec, q);
      for (std::int64_t i = 0; i < extent.cols; ++i)
        ASSERT_EQ(value_at(codes, i), 0.f) << "element " << i << " tier " << cpu_tier_name(tier);
    }
  }
}

TEST_P(Idempotence, FreshScalesUnderTheOldGlobalAreTheOldOnes) {
  const OperandSpec& spec = GetParam();
  const bool holds = spec.format.scale == kE4M3 && spec.writer->max_rule && spec.writer->name != "modelopt-static";
  if (!holds) GTEST_SKIP() << "MX scales may move on Gaussian data, and searches choose anew (law 5)";
  Stream stream(kCpu, 2);
  const Tensor x = test::random_matrix(DType::kF32, kExtent, 5);
  const QuantizedTensor q = quantize(stream, x, spec);
  const Tensor values = dequantize(stream, q);
  const QuantizedTensor again =
      quantize(stream, values, spec, {.whole = kExtent, .maxima = Maxima{observe(stream, x).tensor}});
  ASSERT_EQ(again.global.as<float>()[0], q.global.as<float>()[0]);
  const Block b = block_in(spec.format, kExtent);
  std::int64_t checked = 0;
  for (std::int64_t i = 0; i < q.scales.count(); ++i) {
    const std::uint8_t old = q.scales.as<std::uint8_t>()[i];
    if (old < 0x08) continue;  // below 2^-6 the scale itself rounds coarsely
    // The block's largest code is 6 unless the scale was chosen for a block of zeros.
    const std::int64_t row = i / (kExtent.cols / b.cols) * b.rows, col = i % (kExtent.cols / b.cols) * b.cols;
    float largest = 0;
    for (std::int64_t r = row; r < std::min(row + b.rows, kExtent.rows); ++r)
      for (std::int64_t c = col; c < col + b.cols; ++c)
        largest = std::max(largest, magnitude(value_at(q, r * kExtent.cols + c)));
    if (largest < 6) continue;
    ++checked;
    ASSERT_EQ(again.scales.as<std::uint8_t>()[i], old) << "block " << i;
  }
  EXPECT_GT(checked, 50);
}

INSTANTIATE_TEST_SUITE_P(Registry, Idempotence, testing::ValuesIn(laws::all_specs()),
                         [](const auto& spec) { return laws::name_of(spec.param); });

}  // namespace
}  // namespace tessera
