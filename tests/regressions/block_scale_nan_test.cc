// E4M3 has no infinity and one NaN, 0x7F: what does not fit must saturate at 448 (0x7E) when it is written, and 0x7F
// must not be read as 480.
#include <gtest/gtest.h>

#include "tessera/kernels/quantize.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

// NVIDIA/Model-Optimizer#1633 wrote 0x7F for what exceeds 448; vllm-project/vllm-omni#4025 printed "!!!!" from it;
// ml-explore/mlx#4135, #4164 read it as 480. The error names the tensor, the place and the byte.
TEST(BlockScales, ThatAreNanAreRefusedByPlace) {
  const test::TemporaryFolder folder;
  std::vector<std::uint8_t> scales(6, test::kTwo);
  scales[4] = 0x7f;
  const ModelBuilder b = ModelBuilder()
                             .bytes("m.up_proj.weight", DType::kU8, {3, 16}, {test::kOnes})
                             .bytes("m.up_proj.weight_scale", DType::kF8E4M3, {3, 2}, scales)
                             .numbers("m.up_proj.weight_scale_2", DType::kF32, {}, {0.25f});
  const Error e = test::refusal_of(b.write(folder / "model"));
  EXPECT_EQ(e.code(), Errc::kCorrupt);
  EXPECT_EQ(e.tensor(), "m.up_proj.weight_scale");
  EXPECT_TRUE(test::has(e.message(), "[2, 0]") && test::has(e.message(), "0x7F")) << e.what();
  EXPECT_TRUE(is_nan(decode(kE4M3, 0x7f)) && is_nan(decode(kE4M3, 0xff)));
}

// A negative block scale inverts its block; no writer means it (spec 7.5).
TEST(BlockScales, ThatAreNegativeAreRefused) {
  const test::TemporaryFolder folder;
  const ModelBuilder b = ModelBuilder()
                             .bytes("m.up_proj.weight", DType::kU8, {2, 8}, {test::kOnes})
                             .bytes("m.up_proj.weight_scale", DType::kF8E4M3, {2, 1}, {test::kTwo, 0xb8})
                             .numbers("m.up_proj.weight_scale_2", DType::kF32, {}, {0.25f});
  EXPECT_EQ(test::refusal_of(b.write(folder / "model")).code(), Errc::kCorrupt);
}

// Model-Optimizer#1633, #1397 as writers: block maxima from zero to the tensor's own, over 60 binary orders.
TEST(BlockScales, AreWrittenWithoutNanOverTheWholeRange) {
  constexpr std::int64_t kBlocks = 64;
  Tensor x(DType::kF32, {1, kBlocks * 16});
  for (std::int64_t i = 0; i < x.count(); ++i) x.as<float>()[i] = i < 16 ? 0.f : pow2(static_cast<int>(i / 16) - 60);
  Stream stream(kCpu, 1);
  for (const Writer* writer : all_writers()) {
    if (!writer->supports(find_format("nvfp4"))) continue;
    const QuantizedTensor q = quantize(stream, x, {find_format("nvfp4"), writer});
    for (std::int64_t i = 0; i < kBlocks; ++i)
      EXPECT_LE(q.scales.as<std::uint8_t>()[i], 0x7e) << writer->name << " " << i;
    const Tensor y = dequantize(stream, q);
    for (std::int64_t i = 0; i < y.count(); ++i) EXPECT_TRUE(is_finite(y.as<float>()[i])) << writer->name << " " << i;
  }
}

// Model-Optimizer#1397: the scale of a small block underflowed to zero; its writer's least scale is 2^-9 (spec 2.4).
TEST(BlockScales, OfSmallBlocksDoNotUnderflowInModelopt) {
  Tensor x(DType::kF32, {1, 32});
  for (std::int64_t i = 0; i < 32; ++i) x.as<float>()[i] = i < 16 ? 2688.f : 0x1p-20f;
  Stream stream(kCpu, 1);
  for (const char* writer : {"modelopt", "modelopt-static"}) {
    const QuantizedTensor q = quantize(stream, x, {find_format("nvfp4"), &find_writer(writer)});
    EXPECT_EQ(q.global.as<float>()[0], 1.f);
    EXPECT_EQ(q.scales.as<std::uint8_t>()[0], 0x7e);
    EXPECT_EQ(q.scales.as<std::uint8_t>()[1], 0x01) << writer;
  }
}

}  // namespace
}  // namespace tessera
