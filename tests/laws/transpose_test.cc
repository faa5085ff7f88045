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

TEST_P(Transpose, SquareBlocksCommute) {
  Stream stream(kCpu, 2);
  const OperandSpec& spec = GetParam();
  if (spec.writer->encode(spec.format, DType::kBf16).stochastic) return;  // a draw belongs to an element's place
  const Tensor x = test::random_matrix(DType::kBf16, kExtent, 6);
  const QuantizedTensor q = quantize(stream, x, spec), t = quantize(stream, test::transpose(x), spec);
  const Tensor values = dequantize(stream, q), back = test::transpose(dequantize(stream, t));
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < values.count(); ++i)
    different +=
        std::bit_cast<std::uint32_t>(values.as<float>()[i]) != std::bit_cast<std::uint32_t>(back.as<float>()[i]);
  if (spec.format.block.is_square())
    EXPECT_EQ(different, 0);
  else
    EXPECT_GT(different, 0) << "blocks along one axis seem to commute: then a transposed copy would not be needed";
}

INSTANTIATE_TEST_SUITE_P(Registry, Transpose, testing::ValuesIn(laws::all_specs()),
                         [](const auto& spec) { return laws::name_of(spec.param); });

}  // namespace
}  // namespace tessera
