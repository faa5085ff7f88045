// Law: every implementation of gemm gives the reference's bits for every format, type and shape, writes nothing beside
// its output, and gives a row the same bits alone and in any batch.
#include "tessera/kernels/gemm.h"

#include <gtest/gtest.h>

#include "family_values.h"
#include "guarded.h"
#include "tessera/base/error.h"

namespace tessera {
namespace {

using test::bytes_of;
using test::Fill;
using test::filled;
using test::first_difference;
using test::Guarded;
using test::random_codes;
using test::stream_of;

constexpr DType kTypes[] = {DType::kBf16, DType::kF32};

std::vector<Format> formats() {
  std::vector<Format> result;
  for (const Format* f : all_formats()) result.push_back(*f);
  for (const Block block : {Block{16, 16}, Block{32, 32}, Block{192, 64}, Block{24, 1}, Block{8, 8}})
    for (const Element scale : {kE8M23, kE8M0}) result.push_back(block_fp8(block, kE4M3, scale));
  return result;
}

DType dense_type(const Format& f) {
  return f.element == kE8M7 ? DType::kBf16 : f.element == kE5M10 ? DType::kF16 : DType::kF32;
}

PackedMatrix random_matrix(const Format& format, Extent extent, Fill fill, std::uint32_t seed) {
  if (format.is_scaled()) return pack(stream_of(1), random_codes(format, extent, seed));
  return pack(stream_of(1), filled(dense_type(format), extent, fill, seed));
}

std::vector<const GemmImpl*> implementations() {
  std::vector<const GemmImpl*> result;
  for (const GemmImpl& impl : gemm_impls())
    if (impl.here(stream_of(1)) && impl.name != "reference") result.push_back(&impl);
  return result;
}
const GemmImpl& reference_impl() { return gemm_impls().back(); }

struct Case {
  const PackedMatrix& w;
  const Tensor& x;
  DType y_type;
  const float* bias = nullptr;
  std::int64_t column = 0, columns = 0;  // of y; 0: as many as w has rows
  std::int64_t first_panel = 0, end_panel = -1;
};

struct Result {
  std::vector<std::byte> y;
  bool intact = true;
};

// Panels by themselves, as a thread gets them.
Result run(const GemmImpl& impl, const Case& c) {
  const std::int64_t columns = c.columns > 0 ? c.columns : c.w.extent.rows;
  Guarded y(c.y_type, {c.x.extent().rows, columns}, 4);
  const GemmTile tile{.x = c.x.data(),
                      .x_type = c.x.dtype(),
                      .m = c.x.extent().rows,
                      .w = &c.w,
                      .bias = c.bias,
                      .first_panel = c.first_panel,
                      .end_panel = c.end_panel < 0 ? c.w.panel_count() : c.end_panel,
                      .y = y.tensor().data() + c.column * (dtype_bits(c.y_type) / 8),
                      .y_type = c.y_type,
                      .y_stride = columns};
  if (impl.fits(tile)) impl.run(tile);
  return {bytes_of(y.tensor()), y.is_intact()};
}

bool fits(const GemmImpl& impl, const Case& c) {
  return impl.fits({.x_type = c.x.dtype(), .m = c.x.extent().rows, .w = &c.w, .y_type = c.y_type});
}

std::string name_of(const Case& c, const GemmImpl& impl) {
  return fmt::format("{} {} [{}, {}] x {} [{}, {}] to {}, panels {} to {}", impl.name, format_label(c.w.format),
                     c.w.extent.rows, c.w.extent.cols, dtype_name(c.x.dtype()), c.x.extent().rows, c.x.extent().cols,
                     dtype_name(c.y_type), c.first_panel, c.end_panel);
}

int expect_same(const Case& c) {
  const Result wanted = run(reference_impl(), c);
  int ran = 0;
  for (const GemmImpl* impl : implementations()) {
    if (!fits(*impl, c)) continue;
    ++ran;
    const Result got = run(*impl, c);
    EXPECT_TRUE(got.intact) << name_of(c, *impl);
    EXPECT_EQ(first_difference(got.y, wanted.y), -1) << name_of(c, *impl);
  }
  return ran;
}

// n and k: one, primes, a panel and a step and their neighbours, several of them.
constexpr Extent kShapes[] = {{1, 1},    {1, 64},   {15, 63}, {16, 64},  {17, 65},  {31, 130},
                              {67, 16},  {64, 128}, {5, 521}, {33, 15},  {80, 192}, {2, 2},
                              {48, 384}, {113, 48}, {16, 17}, {130, 31}, {1, 1027}, {65, 256}};
// m: each block of rows and its neighbours, and beyond the rows that a chunk holds.
std::int64_t rows_of(std::uint32_t turn) { return 1 + turn * 7 % 40; }

std::vector<float> bias_of(std::int64_t n, std::uint32_t seed) {
  const Tensor t = filled(DType::kF32, {1, n}, seed % 3 == 0 ? Fill::kSubnormal : Fill::kNormal, seed);
  return {t.as<float>(), t.as<float>() + n};
}

TEST(Gemm, EveryImplementationGivesTheReferencesBits) {
  std::uint32_t turn = 0;
  for (const Format& format : formats())
    for (const DType x_type : kTypes)
      for (const DType y_type : kTypes)
        for (const Extent shape : kShapes) {
          if (HasFailure()) return;
          const Fill fill = test::kFiniteFills[turn % test::kFiniteFills.size()];
          const PackedMatrix w = random_matrix(format, shape, fill, turn);
          const Tensor x = filled(x_type, {rows_of(turn), shape.cols}, fill, turn + 1);
          const std::vector<float> bias = bias_of(shape.rows, turn);
          const int ran = expect_same({w, x, y_type, turn % 2 == 0 ? bias.data() : nullptr});
          const auto all = static_cast<int>(implementations().size());
          const bool dots = x_type == DType::kBf16 && w.code_bits != 32;
          EXPECT_EQ(ran, all - (dots || stream_of(1).cpu_tier() < CpuTier::kAvx512Bf16 ? 0 : 1))
              << "an implementation declined " << format_label(format);
          ++turn;
        }
}

// NaN, infinities and subnormals in x, in the codes, and in scales and factors.
TEST(Gemm, StrayValuesGiveTheReferencesBits) {
  std::uint32_t turn = 1000;
  for (const Format& format : formats())
    for (const DType x_type : kTypes)
      for (const Fill fill : {Fill::kAny, Fill::kOneStray, Fill::kSubnormal, Fill::kHuge, Fill::kZeros})
        for (const std::int64_t m : {1, 2, 5, 8, 13}) {
          if (HasFailure()) return;
          const PackedMatrix w = random_matrix(format, kShapes[turn % std::size(kShapes)], fill, turn * 4);
          expect_same({w, filled(x_type, {m, w.extent.cols}, fill, turn), kTypes[turn % 2]});
          ++turn;
        }
}

// Sums at the edge of the smallest normal number, where what counts is how a result would have been rounded.
TEST(Gemm, ResultsThatRoundUpToTheSmallestNormalNumberAreTheReferences) {
  for (const float below : {0.25f, 0.5f, 0.625f, 0.75f, 1.f, 1.25f}) {
    Tensor w(DType::kBf16, {1, 2}), x(DType::kBf16, {1, 2});
    const auto set = [](Tensor& t, std::int64_t i, float v) { t.as<std::uint16_t>()[i] = bits16(DType::kBf16, v); };
    set(w, 1, 0x1p-60f);
    set(x, 1, 0x1p-66f);
    set(w, 0, -below * 0x1p-70f);
    set(x, 0, 0x1p-80f);
    expect_same({pack(stream_of(1), w), x, DType::kF32});
    const float factor = 1 - 0x1p-24f;
    QuantizedTensor q = random_codes(find_format("fp8"), {1, 2}, 1);
    q.codes.as<std::uint8_t>()[0] = q.codes.as<std::uint8_t>()[1] = 0x38;  // 1
    q.scales.as<float>()[0] = factor * below;
    set(x, 0, 0x1p-126f / below);
    set(x, 1, 0.f);
    expect_same({pack(stream_of(1), q), x, DType::kF32});
  }
}

// Pieces of the panels, as threads get them, and columns of a wider y.
TEST(Gemm, PanelsStandAlone) {
  std::uint32_t turn = 2000;
  for (const Format& format : formats())
    for (const std::int64_t m : {1, 4, 9, 31}) {
      if (HasFailure()) return;
      const PackedMatrix w = random_matrix(format, {163, 96}, Fill::kNormal, turn);
      const Tensor x = filled(kTypes[turn % 2], {m, 96}, Fill::kNormal, turn);
      const std::vector<float> bias = bias_of(163, turn);
      const DType y_type = kTypes[turn / 2 % 2];
      for (const auto& [first, end] : {std::pair{0, 1}, std::pair{3, 8}, std::pair{10, 11}, std::pair{1, 11}})
        expect_same({w, x, y_type, bias.data(), turn % 7, 163 + 7 + turn % 3, first, end});
      ++turn;
    }
}

// Several matrices of different formats as one job, on 1 to 8 threads, in one y.
TEST(Gemm, NumberOfThreadsChangesNothing) {
  const PackedMatrix q = random_matrix(find_format("nvfp4"), {80, 128}, Fill::kNormal, 1),
                     k = random_matrix(find_format("mxfp8"), {17, 128}, Fill::kNormal, 2),
                     v = random_matrix(find_format("bf16"), {33, 128}, Fill::kNormal, 3);
  const std::vector<float> bias = bias_of(80, 1);
  const GemmPart parts[] = {{.w = &q, .bias = bias.data(), .column = 50}, {.w = &k, .column = 33}, {.w = &v}};
  for (const std::int64_t m : {1, 3, 12, 37}) {
    const Tensor x = filled(DType::kBf16, {m, 128}, Fill::kNormal, 7);
    Tensor wanted(DType::kF32, {m, 130});
    std::memset(wanted.data(), 0x7f, wanted.bytes());
    for (const GemmPart& part : parts)
      reference_impl().run({.x = x.data(),
                            .m = m,
                            .w = part.w,
                            .bias = part.bias,
                            .end_panel = part.w->panel_count(),
                            .y = wanted.as<float>() + part.column,
                            .y_type = DType::kF32,
                            .y_stride = 130});
    for (int threads = 1; threads <= 8; ++threads) {
      Guarded y(DType::kF32, {m, 130});
      gemm_nt(stream_of(threads), {x, parts, y.tensor()});
      EXPECT_TRUE(y.is_intact());
      EXPECT_EQ(first_difference(bytes_of(y.tensor()), bytes_of(wanted)), -1) << m << " rows, " << threads;
    }
  }
}

// Law 1: decode and prefill, small batches and chunks of a long prompt give a row the same bits.
TEST(Gemm, RowsDoNotKnowEachOther) {
  std::uint32_t turn = 3000;
  for (const Format& format : formats())
    for (const GemmImpl* impl : implementations()) {
      const DType x_type = impl->name == "avx512_bf16" ? DType::kBf16 : kTypes[turn % 2];
      const PackedMatrix w = random_matrix(format, {70, 144}, Fill::kNormal, 4 * turn + 1);
      const Tensor x = filled(x_type, {253, 144}, Fill::kNormal, turn++);
      if (!fits(*impl, {w, x, DType::kF32})) continue;
      const Result all = run(*impl, {w, x, DType::kF32});
      const std::size_t row_bytes = 70 * sizeof(float);
      for (const auto& [row, count] : {std::pair{0, 1}, std::pair{252, 1}, std::pair{17, 2}, std::pair{90, 7},
                                       std::pair{8, 8}, std::pair{239, 9}, std::pair{100, 41}, std::pair{0, 252}}) {
        const Result part = run(*impl, {w, x.slice(row, row + count), DType::kF32});
        EXPECT_EQ(std::memcmp(part.y.data(), all.y.data() + static_cast<std::size_t>(row) * row_bytes,
                              static_cast<std::size_t>(count) * row_bytes),
                  0)
            << impl->name << " " << format_label(format) << ", rows " << row << " and " << count - 1 << " more";
      }
    }
}

TEST(Gemm, LeavesTheCallersRoundingModeAsItWas) {
#if defined(__x86_64__)
  const unsigned before = __builtin_ia32_stmxcsr();
  const PackedMatrix w = random_matrix(find_format("nvfp4"), {16, 64}, Fill::kNormal, 1);
  const Tensor x = filled(DType::kBf16, {12, 64}, Fill::kNormal, 7);
  for (const GemmImpl* impl : implementations()) run(*impl, {w, x, DType::kF32});
  EXPECT_EQ(__builtin_ia32_stmxcsr() & ~0x3fu, before & ~0x3fu);
#endif
}

}  // namespace
}  // namespace tessera
