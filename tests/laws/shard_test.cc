// Law 4, shard: quantize(piece, where it stands, agreed maxima) == piece of quantize(whole), bitwise, for every format,
// writer and cut; for pieces that end inside blocks too, where the blocks' maxima are agreed. Writers that search
// refuse such cuts.
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"
#include "tests/laws/specs.h"
#include "tests/support/random_matrix.h"

namespace tessera {
namespace {

constexpr Extent kWhole{70, 320};  // no multiple of 128 either way
constexpr RandomKey kKey{11, 42};

class Shard : public testing::TestWithParam<OperandSpec> {
 protected:
  Shard() : stream_(kCpu, 2) { stream_.set_cpu_tier(CpuTier::kReference); }

  Extent whole() const {  // writers of whole blocks get whole blocks
    const Block b = block_in(GetParam().format, kWhole);
    if (!GetParam().writer->whole_blocks_only) return kWhole;
    return {ceil_div(kWhole.rows, b.rows) * b.rows, ceil_div(kWhole.cols, b.cols) * b.cols};
  }
  Stream stream_;
};

struct Cut {
  std::int64_t row, col;
  Extent extent;
};

void expect_piece(const QuantizedTensor& piece, const QuantizedTensor& all, const Cut& cut) {
  const auto code = [](const QuantizedTensor& q, std::int64_t r, std::int64_t c) {
    const std::uint8_t* row = q.codes.as<std::uint8_t>() + r * row_bytes(q.format, q.extent.cols);
    return load_code(row, q.format.element.bits(), c);
  };
  for (std::int64_t r = 0; r < cut.extent.rows; ++r)
    for (std::int64_t c = 0; c < cut.extent.cols; ++c)
      ASSERT_EQ(code(piece, r, c), code(all, cut.row + r, cut.col + c))
          << "code " << r << ", " << c << " of the piece at " << cut.row << ", " << cut.col;
  const Block b = block_in(all.format, all.extent);
  const std::int64_t wide = scale_extent(all.format, all.extent).cols, narrow = piece.scales.shape()[1];
  for (std::int64_t r = 0; r < piece.scales.shape()[0]; ++r)
    for (std::int64_t c = 0; c < narrow; ++c) {
      const std::int64_t i = r * narrow + c, k = (cut.row / b.rows + r) * wide + cut.col / b.cols + c;
      if (piece.scales.dtype() == DType::kF32)
        ASSERT_EQ(std::bit_cast<std::uint32_t>(piece.scales.as<float>()[i]),
                  std::bit_cast<std::uint32_t>(all.scales.as<float>()[k]))
            << "scale " << i;
      else
        ASSERT_EQ(piece.scales.as<std::uint8_t>()[i], all.scales.as<std::uint8_t>()[k]) << "scale " << i;
    }
}

TEST_P(Shard, PiecesOfGranulesAreTheWhole) {
  const OperandSpec& spec = GetParam();
  for (const DType dtype : {DType::kBf16, DType::kF32, DType::kF16}) {
    const Tensor x = test::random_matrix(dtype, whole(), 1);
    const QuantizedTensor all = quantize(stream_, x, spec, {.key = kKey});
    const Maxima agreed{observe(stream_, x).tensor};
    const Extent g = granule(spec.format, whole());
    for (const std::int64_t parts : {2, 3}) {
      for (std::int64_t i = 0; i < parts; ++i) {
        const auto bound = [&](std::int64_t n, std::int64_t step, std::int64_t k) {
          return std::min(n, ceil_div(ceil_div(n, step) * k, parts) * step);
        };
        const std::int64_t r0 = bound(whole().rows, g.rows, i), r1 = bound(whole().rows, g.rows, i + 1);
        const std::int64_t c0 = bound(whole().cols, g.cols, i), c1 = bound(whole().cols, g.cols, i + 1);
        for (const Cut& cut : {Cut{r0, 0, {r1 - r0, whole().cols}}, Cut{0, c0, {whole().rows, c1 - c0}},
                               Cut{r0, c0, {r1 - r0, c1 - c0}}}) {
          if (cut.extent.count() == 0) continue;
          const QuantizedTensor piece =
              quantize(stream_, test::piece_of(x, cut.row, cut.col, cut.extent), spec,
                       {.whole = whole(), .row = cut.row, .col = cut.col, .maxima = agreed, .key = kKey});
          expect_piece(piece, all, cut);
        }
      }
    }
  }
}

// A flat shard of the row-major weight, from one even offset to another, is a piece of a row, rows, and a piece of a
// row.
TEST_P(Shard, FlatPiecesAgreeOnTheirBlocks) {
  const OperandSpec& spec = GetParam();
  const Tensor x = test::random_matrix(DType::kBf16, whole(), 2);
  const std::int64_t cols = whole().cols;
  const std::int64_t step = std::max<std::int64_t>(2, codes_of_whole_bytes(spec.format.element));
  const Cut cuts[] = {
      {5, 3 * step, {1, cols - 3 * step}}, {6, 0, {9, cols}}, {15, 0, {1, 11 * step}}, {20, 17 * step, {1, step}}};
  for (const Cut& cut : cuts) {
    const Tensor part = test::piece_of(x, cut.row, cut.col, cut.extent);
    QuantizeContext where{.whole = whole(), .row = cut.row, .col = cut.col, .key = kKey};
    // The other pieces' share of the straddled blocks: what an exact max-reduction over all of them gives.
    const Maxima of_blocks = observe(stream_, x, spec.format);
    const Block b = block_in(spec.format, whole());
    const std::int64_t wide = scale_extent(spec.format, whole()).cols;
    Maxima agreed{of_blocks.tensor};
    for (std::int64_t r = cut.row / b.rows; r < ceil_div(cut.row + cut.extent.rows, b.rows); ++r)
      for (std::int64_t c = cut.col / b.cols; c < ceil_div(cut.col + cut.extent.cols, b.cols); ++c)
        agreed.blocks.push_back(of_blocks.blocks[static_cast<std::size_t>(r * wide + c)]);
    where.maxima = agreed;
    const bool granules = cut.col == 0 && cut.extent.cols == cols;
    if (!spec.writer->max_rule && !granules) {
      try {
        quantize(stream_, part, spec, where);
        FAIL() << "a writer that searches took a cut through its blocks";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Errc::kUnsupported);
        EXPECT_NE(std::string(e.what()).find(spec.writer->name), std::string::npos);
      }
      continue;
    }
    expect_piece(quantize(stream_, part, spec, where), quantize(stream_, x, spec, {.key = kKey}), cut);
  }
}

TEST_P(Shard, MaximaReduceInAnyOrder) {
  const Tensor x = test::random_matrix(DType::kF32, {33, 64}, 3);
  x.as<float>()[100] = kNaN;  // a NaN survives the reduction
  const Maxima all = observe(stream_, x), a = observe(stream_, x.slice(0, 7)), b = observe(stream_, x.slice(7, 33));
  EXPECT_TRUE(is_nan(all.tensor));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(larger_maxima(a, b).tensor), std::bit_cast<std::uint32_t>(all.tensor));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(larger_maxima(b, a).tensor), std::bit_cast<std::uint32_t>(all.tensor));
}

INSTANTIATE_TEST_SUITE_P(Registry, Shard, testing::ValuesIn(laws::all_specs()),
                         [](const auto& spec) { return laws::name_of(spec.param); });

}  // namespace
}  // namespace tessera
