// Law 6, transpose: square blocks commute with transposition, bit for bit; other blocks do not, and this test asserts
// that.
#include <gtest/gtest.h>

#include "tessera/kernels/quantize.h"
#include "tests/laws/specs.h"
#include "tests/support/random_matrix.h"

namespace tessera {
namespace {

class Transpose : public testing::TestWithParam<OperandSpec> {};

constexpr Extent kExtent{256, 256};

std::uint32_t code_at(const QuantizedTensor& q, std::int64_t r, std::int64_t c) {
  const std::uint8_t* row = q.codes.as<std::uint8_t>() + r * row_bytes(q.format, q.extent.cols);
  return load_code(row, q.format.element.bits(), c);
}

TEST_P(Transpose, SquareBlocksCommute) {
  Stream stream(kCpu, 2);
  const OperandSpec& spec = GetParam();
  if (spec.writer->encode(spec.format, DType::kBf16).stochastic) GTEST_SKIP() << "a draw belongs to an element's place";
  const Tensor x = test::random_matrix(DType::kBf16, kExtent, 6);
  const QuantizedTensor q = quantize(stream, x, spec), t = quantize(stream, test::transpose(x), spec);
  std::int64_t different = 0;
  for (std::int64_t r = 0; r < kExtent.rows; ++r)
    for (std::int64_t c = 0; c < kExtent.cols; ++c) different += code_at(q, r, c) != code_at(t, c, r);
  if (spec.format.block.is_square())
    EXPECT_EQ(different, 0);
  else
    EXPECT_GT(different, 0) << "blocks along one axis seem to commute: then a transposed copy would not be needed";
}

INSTANTIATE_TEST_SUITE_P(Registry, Transpose, testing::ValuesIn(laws::all_specs()),
                         [](const auto& spec) { return laws::name_of(spec.param); });

}  // namespace
}  // namespace tessera
