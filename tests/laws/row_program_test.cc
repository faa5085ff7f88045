// Every implementation of row programs gives the reference's bits, for every step, widths around a vector's, every type
// that it rounds to, and numbers that are none.
#include "tessera/kernels/row_program.h"

#include <gtest/gtest.h>

#include <array>

#include "tessera/numeric/lanes.h"
#include "tessera/numeric/philox.h"

namespace tessera {
namespace {

struct Buffers {
  std::vector<float> wide;
  std::vector<std::uint16_t> narrow, out16;
  std::vector<float> out32;
};

float number(std::uint64_t i) {
  const std::uint32_t w = random_word({.seed = 9, .stream = 1}, i);
  if (w % 61 == 0) return kInfinity;
  if (w % 67 == 0) return kNaN;
  if (w % 53 == 0) return -0.f;
  if (w % 47 == 0) return 0x1p-140f;
  return static_cast<float>(static_cast<std::int32_t>(w)) * 0x1p-28f;
}

Buffers make_buffers(std::int64_t width) {
  Buffers b;
  for (std::int64_t i = 0; i < 3 * width; ++i) {
    b.wide.push_back(number(static_cast<std::uint64_t>(i)));
    b.narrow.push_back(bits16(DType::kBf16, round_to(DType::kBf16, number(static_cast<std::uint64_t>(i) + 1000))));
  }
  b.out16.assign(static_cast<std::size_t>(3 * width + 1), 0x1234);
  b.out32.assign(static_cast<std::size_t>(3 * width + 1), -7);
  return b;
}

// Two loads, the step, both stores.
std::vector<RowStep> program_of(RowOp op, DType round, std::int64_t width, std::int64_t group) {
  const std::int64_t floats = register_floats(width) + 16;
  const int f32 = static_cast<int>(DType::kF32);
  const std::int64_t made = op == RowOp::kMeanSquare ? width / group : width;
  return {{.op = RowOp::kLoad, .round = f32, .buffer = 0, .width = width, .d = 0},
          {.op = RowOp::kLoad, .round = f32, .buffer = 1, .width = width, .d = floats},
          {.op = op,
           .round = static_cast<int>(round),
           .width = width,
           .group = group,
           .rotary = group / 2 * 2,
           .a = 0,
           .b = floats,
           .d = 2 * floats,
           .number = 1e-3f},
          {.op = RowOp::kStore, .buffer = 2, .width = made, .a = 2 * floats},
          {.op = RowOp::kStore, .buffer = 3, .width = made, .a = 2 * floats}};
}

TEST(RowProgram, EveryImplementationGivesTheReferencesBits) {
  Stream stream(kCpu, 1);
  constexpr std::array kOps{RowOp::kAdd,     RowOp::kSubtract,   RowOp::kMultiply,  RowOp::kSilu,
                            RowOp::kSigmoid, RowOp::kGelu,       RowOp::kGeluTanh,  RowOp::kTanh,
                            RowOp::kScale,   RowOp::kMeanSquare, RowOp::kNormalize, RowOp::kRope};
  for (const RowOp op : kOps)
    for (const DType round : {DType::kF32, DType::kBf16, DType::kF16})
      for (const auto& [width, group] :
           {std::pair<std::int64_t, std::int64_t>{2, 2}, {15, 15}, {16, 8}, {34, 34}, {60, 20}, {96, 48}}) {
        if (op == RowOp::kRope && group % 2 != 0) continue;
        std::vector<Buffers> results;
        for (const RowImpl& impl : row_impls()) {
          if (!impl.here(stream)) continue;
          Buffers b = make_buffers(width);
          const std::vector<RowStep> steps = program_of(op, round, width, group);
          std::vector<float> frame(static_cast<std::size_t>(3 * (register_floats(width) + 16) + 16));
          const std::array<RowBuffer, 4> buffers{{{b.wide.data(), width, static_cast<int>(DType::kF32)},
                                                  {b.narrow.data(), width, static_cast<int>(DType::kBf16)},
                                                  {b.out32.data(), width, static_cast<int>(DType::kF32)},
                                                  {b.out16.data(), width, static_cast<int>(DType::kBf16)}}};
          for (std::int64_t row = 0; row < 3; ++row)
            impl.run(steps.data(), static_cast<std::int64_t>(steps.size()), buffers.data(), row, frame.data());
          results.push_back(std::move(b));
        }
        for (const Buffers& b : results) {
          for (std::size_t i = 0; i < b.out32.size(); ++i)
            ASSERT_EQ(std::bit_cast<std::uint32_t>(b.out32[i]), std::bit_cast<std::uint32_t>(results.back().out32[i]))
                << static_cast<int>(op) << " " << dtype_name(round) << " " << width << " at " << i;
          ASSERT_EQ(b.out16, results.back().out16) << static_cast<int>(op) << " " << dtype_name(round) << " " << width;
        }
      }
}

}  // namespace
}  // namespace tessera
