// Law 3, decode: values are computed in f32 in the order of the tensor's Sense, rounded once; segments of rows have
// globals of their own; code 8 reads as the dialect says.
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"
#include "tests/laws/specs.h"
#include "tests/support/random_matrix.h"

namespace tessera {
namespace {

QuantizedTensor two_segments(Sense sense) {
  QuantizedTensor q = empty_quantized(find_format("nvfp4"), {6, 32});
  q.sense = sense;
  for (std::size_t i = 0; i < q.codes.bytes(); ++i)
    q.codes.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(random_word({1, 2}, i));
  for (std::size_t i = 0; i < q.scales.bytes(); ++i)
    q.scales.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(1 + random_word({1, 3}, i) % 126);
  q.segment_ends = {2, 6};
  q.global = Tensor(DType::kF32, {2});
  q.global.as<float>()[0] = 0x1.5a5a5ap-9f;  // 1/(1/g) differs from g
  q.global.as<float>()[1] = 0x1.2c3d4ep-8f;
  return q;
}

TEST(Decode, FollowsTheOrderOfEachSense) {
  for (const CpuTier tier : {CpuTier::kReference, best_cpu_tier()}) {
    Stream stream(kCpu, 2);
    stream.set_cpu_tier(tier);
    for (const Sense sense : {Sense::kMultiply, Sense::kDivide, Sense::kReciprocalFirst, Sense::kMaximum}) {
      const QuantizedTensor q = two_segments(sense);
      const Tensor values = dequantize(stream, q);
      for (std::int64_t i = 0; i < q.extent.count(); ++i) {
        const float code = decode(kE2M1, q.codes.as<std::uint8_t>()[i / 2] >> (4 * (i % 2)) & 15u);
        const float scale = decode(kE4M3, q.scales.as<std::uint8_t>()[i / 16]),
                    g = q.global.as<float>()[i / 32 < 2 ? 0 : 1];
        volatile float first = sense == Sense::kDivide            ? scale / g
                               : sense == Sense::kReciprocalFirst ? 1.f / g
                                                                  : scale * g;  // one rounding each
        if (sense == Sense::kMaximum) first = first * (1.f / 2688.f);
        volatile float second = code * first;
        const float expected = sense == Sense::kReciprocalFirst ? second * scale : static_cast<float>(second);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(values.as<float>()[i]), std::bit_cast<std::uint32_t>(expected))
            << i << " tier " << cpu_tier_name(tier);
      }
    }
  }
}

TEST(Decode, RefusesADenseFormat) {
  QuantizedTensor q = two_segments(Sense::kMultiply);
  q.format = find_format("bf16");
  Stream stream(kCpu, 1);
  EXPECT_THROW(dequantize(stream, q), Error);
}

TEST(Decode, TheOrdersDiffer) {
  Stream stream(kCpu, 1);
  const Tensor a = dequantize(stream, two_segments(Sense::kDivide)),
               b = dequantize(stream, two_segments(Sense::kReciprocalFirst));
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) different += a.as<float>()[i] != b.as<float>()[i];
  EXPECT_GT(different, 0) << "then the law would be vacuous";
}

TEST(Decode, CodeEightReadsAsTheDialectSays) {
  Stream stream(kCpu, 1);
  QuantizedTensor q = two_segments(Sense::kMultiply);
  for (std::size_t i = 0; i < q.codes.bytes(); ++i) q.codes.as<std::uint8_t>()[i] = 0x88;
  for (const bool minus : {true, false}) {
    q.reads_minus_zero = minus;
    const Tensor values = dequantize(stream, q);
    for (std::int64_t i = 0; i < values.count(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values.as<float>()[i]), minus ? 0x80000000u : 0u);
  }
}

TEST(Decode, RoundsOnceToTheDtypeAskedFor) {
  Stream stream(kCpu, 2);
  for (const OperandSpec& spec : laws::all_specs()) {
    if (spec.writer->whole_blocks_only) continue;
    const QuantizedTensor q = quantize(stream, test::random_matrix(DType::kBf16, {33, 96}, 8), spec);
    const Tensor exact = dequantize(stream, q);
    for (const DType to : {DType::kBf16, DType::kF16}) {
      const Tensor rounded = dequantize(stream, q, to);
      for (std::int64_t i = 0; i < exact.count(); ++i)
        ASSERT_EQ(rounded.as<std::uint16_t>()[i], bits16(to, round_to(to, exact.as<float>()[i])))
            << laws::name_of(spec) << " " << i;
    }
  }
}

TEST(Decode, SlicesOfRowsDecodeAsTheWhole) {
  Stream stream(kCpu, 1);
  const QuantizedTensor q = two_segments(Sense::kDivide);
  const Tensor all = dequantize(stream, q);
  for (std::int64_t begin = 0; begin < 6; ++begin)
    for (std::int64_t end = begin; end <= 6; ++end) {
      const Tensor part = dequantize(stream, slice_rows(q, begin, end));
      for (std::int64_t i = 0; i < part.count(); ++i) ASSERT_EQ(part.as<float>()[i], all.as<float>()[begin * 32 + i]);
    }
}

}  // namespace
}  // namespace tessera
