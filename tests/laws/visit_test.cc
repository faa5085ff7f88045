// The visit law: the buffers that a QuantizedTensor's visit names are all its bytes. Threads: their number changes no
// bit.
#include <gtest/gtest.h>

#include "tessera/kernels/quantize.h"
#include "tests/laws/specs.h"
#include "tests/support/random_matrix.h"

namespace tessera {
namespace {

class Whole : public testing::TestWithParam<OperandSpec> {};

constexpr Extent kExtent{128, 256};

std::vector<std::vector<std::byte>> buffers_of(const QuantizedTensor& q) {
  std::vector<std::vector<std::byte>> buffers;
  q.visit([&](const char*, const Tensor& t) { buffers.emplace_back(t.span().begin(), t.span().end()); });
  return buffers;
}

TEST_P(Whole, BuffersCoverAllBytes) {
  Stream stream(kCpu, 1);
  const QuantizedTensor q = quantize(stream, test::random_matrix(DType::kBf16, kExtent, 9), GetParam());
  std::size_t sum = 0;
  q.visit([&](const char*, const Tensor& t) { sum += t.bytes(); });
  const Extent grid = scale_extent(q.format, kExtent);
  EXPECT_EQ(sum, static_cast<std::size_t>(code_bytes(q.format, kExtent) + grid.count() * scale_bytes(q.format) +
                                          (q.format.has_global ? 4 : 0)));
  QuantizedTensor rebuilt = empty_quantized(q.format, kExtent);
  rebuilt.sense = q.sense;
  std::size_t i = 0;
  const auto buffers = buffers_of(q);
  rebuilt.visit(
      [&](const char*, Tensor& t) { std::copy(buffers[i].begin(), buffers[i].end(), t.span().begin()), ++i; });
  const Tensor a = dequantize(stream, q), b = dequantize(stream, rebuilt);
  for (std::int64_t k = 0; k < a.count(); ++k)
    ASSERT_TRUE(a.as<float>()[k] == b.as<float>()[k] || (is_nan(a.as<float>()[k]) && is_nan(b.as<float>()[k])));
}

TEST_P(Whole, ThreadsChangeNoBit) {
  const Tensor x = test::random_matrix(DType::kF32, kExtent, 10);
  std::vector<std::vector<std::byte>> first;
  for (int threads = 1; threads <= 8; ++threads) {
    Stream stream(kCpu, threads);
    const auto buffers = buffers_of(quantize(stream, x, GetParam(), {.key = {3, 4}}));
    if (threads == 1) first = buffers;
    EXPECT_TRUE(buffers == first) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Whole, testing::ValuesIn(laws::all_specs()),
                         [](const auto& spec) { return laws::name_of(spec.param); });

}  // namespace
}  // namespace tessera
