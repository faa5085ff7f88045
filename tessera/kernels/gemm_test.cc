#include "tessera/kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"
#include "tessera/numeric/philox.h"
#include "tessera/numeric/writer.h"

namespace tessera {
namespace {

Tensor gaussian(DType type, Extent e, std::uint64_t stream_id) {
  Tensor t(type, {e.rows, e.cols});
  const RandomKey key{.seed = 7, .stream = stream_id};
  for (std::int64_t i = 0; i < t.count(); ++i) {
    double sum = -6;
    for (std::uint64_t j = 0; j < 12; ++j)
      sum += static_cast<double>(random_word(key, static_cast<std::uint64_t>(i) * 12 + j)) * 0x1p-32;
    const auto value = static_cast<float>(sum);
    if (type == DType::kF32)
      t.as<float>()[i] = value;
    else
      t.as<std::uint16_t>()[i] = bits16(type, round_to(type, value));
  }
  return t;
}

std::vector<float> floats(const Tensor& t) {
  std::vector<float> values(static_cast<std::size_t>(t.count()));
  read_floats(t, 0, values);
  return values;
}

class EveryFormat : public testing::TestWithParam<const Format*> {};
INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, testing::ValuesIn(all_formats().begin(), all_formats().end()),
                         [](const auto& format) { return std::string(format.param->name); });

// The sum of k products in f32, each with at most one rounding of the product and one of the sum, and the factor's:
// |error| <= (k + chains + 3) 2^-24 sum |w x| (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1),
// beside what the stored scale's own product with the global loses: 2 roundings.
TEST_P(EveryFormat, SumsWithinTheBoundOfItsRoundings) {
  Stream stream(kCpu, 2);
  for (const Extent e : {Extent{33, 96}, Extent{7, 256}, Extent{16, 130}, Extent{1, 2}}) {
    const Tensor w = gaussian(DType::kF32, e, 1), x = gaussian(DType::kBf16, {3, e.cols}, 2);
    PackedMatrix packed;
    std::vector<float> values;
    if (GetParam()->is_scaled()) {
      const QuantizedTensor q = quantize(stream, w, {*GetParam()});
      packed = pack(stream, q);
      values = floats(dequantize(stream, q));
      if (packed.converted) continue;
      const QuantizedTensor again = unpack(stream, packed);
      EXPECT_EQ(std::memcmp(again.codes.data(), q.codes.data(), q.codes.bytes()), 0);
      EXPECT_EQ(std::memcmp(again.scales.data(), q.scales.data(), q.scales.bytes()), 0);
    } else {
      const DType type = GetParam()->element == kE8M7    ? DType::kBf16
                         : GetParam()->element == kE5M10 ? DType::kF16
                                                         : DType::kF32;
      const Tensor dense = gaussian(type, e, 1);
      packed = pack(stream, dense);
      values = floats(dense);
    }
    Tensor y(DType::kF32, {3, e.rows});
    const GemmPart part{&packed};
    gemm_nt(stream, {x, {&part, 1}, y});
    const std::vector<float> xs = floats(x), ys = floats(y);
    for (std::int64_t m = 0; m < 3; ++m)
      for (std::int64_t n = 0; n < e.rows; ++n) {
        double exact = 0, size = 0;
        for (std::int64_t k = 0; k < e.cols; ++k) {
          const double p =
              double{values[static_cast<std::size_t>(n * e.cols + k)]} * xs[static_cast<std::size_t>(m * e.cols + k)];
          exact += p;
          size += std::fabs(p);
        }
        const double bound =
            (static_cast<double>(e.cols + ceil_div(e.cols, packed.chain)) + 5) * 0x1p-24 * size + 0x1p-120;
        ASSERT_NEAR(ys[static_cast<std::size_t>(m * e.rows + n)], exact, bound) << m << " " << n;
      }
  }
}

TEST(Gemm, LeavesOtherColumnsAlone) {
  Stream stream(kCpu, 2);
  const PackedMatrix w = pack(stream, gaussian(DType::kBf16, {5, 64}, 1));
  const Tensor x = gaussian(DType::kF32, {2, 64}, 2);
  Tensor y(DType::kF32, {2, 9});
  for (int i = 0; i < 18; ++i) y.as<float>()[i] = -1;
  const GemmPart part{.w = &w, .column = 3};
  gemm_nt(stream, {x, {&part, 1}, y});
  for (const int i : {0, 1, 2, 8, 9, 10, 11, 17}) EXPECT_EQ(y.as<float>()[i], -1) << i;
}

TEST(Gemm, SaysWhichShapesDoNotFit) {
  Stream stream(kCpu, 1);
  const PackedMatrix w = pack(stream, gaussian(DType::kBf16, {5, 64}, 1));
  Tensor y(DType::kF32, {2, 5});
  const GemmPart part{.w = &w};
  try {
    gemm_nt(stream, {gaussian(DType::kF32, {2, 65}, 2), {&part, 1}, y});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::kShape);
    EXPECT_STREQ(e.what(), "gemm: x has 65 columns, the weight has 64");
  }
}

}  // namespace
}  // namespace tessera
