// Law: every implementation of a kernel family gives the reference's bits, and writes nothing beside its output.
#include <gtest/gtest.h>

#include <cstring>

#include "family_values.h"
#include "guarded.h"
#include "tessera/base/error.h"
#include "tessera/kernels/quantize_job.h"
#include "tessera/kernels/reference/quantize.h"

namespace tessera {
namespace {

using test::bytes_of;
using test::Fill;
using test::filled;
using test::first_difference;
using test::Guarded;
using test::random_codes;
using test::stream_of;

struct Case {
  const Format& format;
  const Writer& writer;
  Tensor x;
  QuantizeContext where{};
  const QuantizedTensor* like = nullptr;  // scales to encode with
  std::size_t shift = 0;                  // of the outputs from their alignment
};

struct Result {
  std::int64_t not_finite = -1;
  std::vector<std::byte> codes, scales;
  bool intact = true, ran = false;
};

// As quantize() builds a job, but with outputs that we own.
Result run(const QuantizeImpl& impl, Stream& stream, const Case& c) {
  const Extent piece = c.x.extent();
  const Extent whole = c.where.whole == Extent{} ? piece : c.where.whole;
  const BlockGrid grid = block_grid(c.format, piece, c.where);
  Guarded codes(DType::kU8, {piece.rows, row_bytes(c.format, piece.cols)}, c.shift);
  Guarded scales(c.format.scale == kE8M23 ? DType::kF32 : DType::kU8, {grid.blocks.rows, grid.blocks.cols});
  QuantizedTensor out{.format = c.format, .extent = piece, .codes = codes.tensor(), .scales = scales.tensor()};
  out.sense = c.like != nullptr ? c.like->sense : c.writer.sense;
  float amax = 0, global = 1;
  if (c.format.has_global && c.like == nullptr) {
    amax = c.where.maxima ? c.where.maxima->tensor : reference::amax(stream, c.x);
    global = c.writer.global(c.format, amax, c.x.dtype());
  } else if (c.format.has_global) {
    global = c.like->global.as<float>()[0];
  }
  if (c.like != nullptr && out.scales.bytes() > 0)
    std::memcpy(out.scales.data(), c.like->scales.data(), out.scales.bytes());
  std::span<const float> agreed;
  if (c.where.maxima) agreed = c.where.maxima->blocks;
  const QuantizeJob job{.x = c.x,
                        .extent = piece,
                        .whole = whole,
                        .writer = c.writer,
                        .encode = c.writer.encode(c.format, c.x.dtype()),
                        .grid = grid,
                        .tensor_amax = amax,
                        .global = global,
                        .agreed = agreed,
                        .key = c.where.key,
                        .scales_given = c.like != nullptr,
                        .out = out};
  Result result;
  if (!impl.fits(stream, job)) return result;
  result.ran = true;
  if (piece.count() > 0) result.not_finite = impl.run(stream, job);
  result.codes = bytes_of(out.codes);
  result.scales = bytes_of(out.scales);
  result.intact = codes.is_intact() && scales.is_intact();
  return result;
}

int threads_of(std::uint32_t turn) { return 1 + static_cast<int>(turn % 8); }

std::vector<const QuantizeImpl*> implementations() {
  std::vector<const QuantizeImpl*> result;
  for (const QuantizeImpl& impl : quantize_impls())
    if (impl.here(stream_of(1)) && impl.name != "reference") result.push_back(&impl);
  return result;
}
const QuantizeImpl& reference_impl() { return quantize_impls().back(); }

std::string name_of(const Case& c, const QuantizeImpl& impl, int threads) {
  return fmt::format("{} {} {} of {} {} x {} at {}, {}, {} threads", impl.name, c.writer.name, format_label(c.format),
                     dtype_name(c.x.dtype()), c.x.extent().rows, c.x.extent().cols, c.where.row, c.where.col, threads);
}

// Runs every implementation on c. Returns how many ran.
int expect_same(const Case& c, std::uint32_t turn) {
  const Result wanted = run(reference_impl(), stream_of(1), c);
  int ran = 0;
  for (const QuantizeImpl* impl : implementations()) {
    const int threads = threads_of(turn);
    const Result got = run(*impl, stream_of(threads), c);
    if (!got.ran) continue;
    ++ran;
    EXPECT_TRUE(got.intact) << name_of(c, *impl, threads);
    EXPECT_EQ(got.not_finite, wanted.not_finite) << name_of(c, *impl, threads);
    if (wanted.not_finite >= 0 && c.writer.refuses_non_finite(c.format)) continue;  // quantize() throws
    EXPECT_EQ(first_difference(got.scales, wanted.scales), -1) << name_of(c, *impl, threads);
    EXPECT_EQ(first_difference(got.codes, wanted.codes), -1) << name_of(c, *impl, threads);
  }
  return ran;
}

template <class Body>
void for_each_pair(const Body& body) {
  for (const Format* format : all_formats())
    for (const Writer* writer : all_writers())
      if (format->is_scaled() && writer->supports(*format)) body(*format, *writer);
}

Extent shape_near(const Format& format, std::uint32_t turn) {
  const std::int64_t w = format.block.cols != 0 ? format.block.cols : 96,
                     h = std::max<std::int64_t>(1, format.block.rows);
  const Extent shapes[] = {{1, 1},     {1, w - 1},     {2, w},      {3, w + 1},     {h, 2 * w},    {h + 1, 7 * w},
                           {1, 67},    {5, 131},       {0, w},      {3, 0},         {7, 256},      {1, 1021},
                           {2 * h, 8}, {1, 16 * w},    {2, 17 * w}, {h - 1, w},     {1, 4 * 1027}, {31, 2},
                           {1, 2},     {4 * h, 5 * w}, {37, w + 2}, {1, 36 * w + 8}};
  return shapes[turn % std::size(shapes)];
}
constexpr std::uint32_t kShapes = 22;

TEST(Family, QuantizesAsTheReference) {
  std::uint32_t turn = 0, ran = 0, cases = 0;
  for_each_pair([&](const Format& format, const Writer& writer) {
    for (const DType dtype : test::kSources)
      for (std::uint32_t i = 0; i < kShapes && !HasFailure(); ++i, ++turn) {
        const Fill fill = test::kFiniteFills[turn % test::kFiniteFills.size()];
        const Case c{format, writer, filled(dtype, shape_near(format, i), fill, turn), {.key = {turn, 7}}};
        ran += static_cast<std::uint32_t>(expect_same(c, turn));
        cases += static_cast<std::uint32_t>(implementations().size());
      }
  });
  EXPECT_EQ(ran, cases) << "an implementation declined a format of the registry";
}

TEST(Family, TreatsStrayValuesAsTheReference) {
  std::uint32_t turn = 1000;
  for_each_pair([&](const Format& format, const Writer& writer) {
    for (const DType dtype : test::kSources)
      for (const Fill fill : test::kStrayFills)
        for (std::uint32_t i = 0; i < 3 && !HasFailure(); ++i, ++turn)
          expect_same({format, writer, filled(dtype, shape_near(format, 3 * turn + 1), fill, turn)}, turn);
  });
}

TEST(Family, QuantizesLargeMatricesAsTheReference) {
  std::uint32_t turn = 2000;
  for_each_pair([&](const Format& format, const Writer& writer) {
    const DType dtype = test::kSources[turn % 3];
    const Extent extent = format.block.cols == 0 && turn % 2 == 0 ? Extent{2, 150001} : Extent{40, 1040};
    expect_same({format, writer, filled(dtype, extent, Fill::kNormal, turn)}, turn);
    ++turn;
  });
}

// From 4 MiB on, results are written past the caches: one loop for each size of codes, the same for all formats.
TEST(Family, StreamedResultsAreThoseOfTheReference) {
  for (const auto& [name, extent] : {std::pair{"nvfp4", Extent{520, 4096}}, std::pair{"mxfp8", Extent{1030, 4128}}}) {
    const Format& format = find_format(name);
    if (!format.has_global)
      expect_same({format, find_writer("nearest"), filled(DType::kBf16, extent, Fill::kTies, 1)}, 1);
    QuantizedTensor q = empty_quantized(format, extent);
    for (std::size_t i = 0; i < q.codes.bytes(); ++i)
      q.codes.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i % 251);
    std::memset(q.scales.data(), 0x71, q.scales.bytes());
    if (format.has_global) q.global.as<float>()[0] = 0.013f;
    Tensor wanted(DType::kBf16, {extent.rows, extent.cols});
    reference::dequantize(stream_of(1), q, wanted);
    for (const QuantizeImpl* impl : implementations()) {
      Guarded got(DType::kBf16, {extent.rows, extent.cols});
      impl->dequantize(stream_of(2), q, got.tensor());
      EXPECT_TRUE(got.is_intact()) << impl->name;
      EXPECT_EQ(first_difference(bytes_of(got.tensor()), bytes_of(wanted)), -1) << impl->name << " " << name;
    }
  }
}

TEST(Family, BlocksOfAnySizeQuantizeAsTheReference) {
  std::uint32_t turn = 3000;
  for (const Writer* writer : all_writers())
    for (const Block block : {Block{1, 1}, Block{3, 1}, Block{7, 5}, Block{32, 32}, Block{100, 2}, Block{0, 3}}) {
      const Format format = block_fp8(block, turn % 2 == 0 ? kE4M3 : kE5M2, turn % 3 == 0 ? kE8M0 : kE8M23);
      if (!writer->supports(format)) continue;
      for (const DType dtype : test::kSources)
        expect_same({format, *writer, filled(dtype, {11, 230}, Fill::kNormal, turn)}, turn);
      ++turn;
    }
}

TEST(Family, NumberOfThreadsChangesNothing) {
  std::uint32_t turn = 4000;
  for_each_pair([&](const Format& format, const Writer& writer) {
    const Tensor x = filled(DType::kBf16, {20, 336}, Fill::kNormal, turn++);
    for (std::uint32_t threads = 0; threads < 8 && !HasFailure(); ++threads) expect_same({format, writer, x}, threads);
  });
}

TEST(Family, AnyAlignmentOfOutputsWillDo) {
  std::uint32_t turn = 5000;
  for_each_pair([&](const Format& format, const Writer& writer) {
    const Tensor x = filled(DType::kBf16, {3, 384}, Fill::kNormal, turn);
    for (const std::size_t shift : {1u, 2u, 32u}) expect_same({format, writer, x, {}, nullptr, shift}, turn++);
  });
}

// The rectangle of x, as a tensor of its own.
Tensor cut(const Tensor& x, std::int64_t row, std::int64_t col, Extent piece) {
  Tensor result(x.dtype(), {piece.rows, piece.cols});
  const auto size = static_cast<std::size_t>(dtype_bits(x.dtype()) / 8);
  for (std::int64_t r = 0; r < piece.rows; ++r)
    std::memcpy(result.data() + static_cast<std::size_t>(r * piece.cols) * size,
                x.data() + static_cast<std::size_t>((row + r) * x.extent().cols + col) * size,
                static_cast<std::size_t>(piece.cols) * size);
  return result;
}

TEST(Family, PiecesWithAgreedMaximaQuantizeAsTheReference) {
  std::uint32_t turn = 6000;
  for_each_pair([&](const Format& format, const Writer& writer) {
    if (!writer.max_rule) return;
    for (const DType dtype : test::kSources) {
      const Tensor x = filled(dtype, {37, 456}, turn % 2 == 0 ? Fill::kNormal : Fill::kZeros, turn);
      for (const auto& [row, col, piece] :
           {std::tuple{0, 0, Extent{37, 10}}, std::tuple{5, 6, Extent{1, 450}}, std::tuple{3, 130, Extent{20, 200}},
            std::tuple{36, 454, Extent{1, 2}}, std::tuple{17, 16, Extent{15, 256}}}) {
        if (col % codes_of_whole_bytes(format.element) != 0) continue;  // pieces start on whole bytes
        QuantizeContext where{.whole = x.extent(), .row = row, .col = col, .key = {turn, 1}};
        Case c{format, writer, cut(x, row, col, piece), where};
        const BlockGrid grid = block_grid(format, piece, where);
        Maxima agreed{.tensor = reference::amax(stream_of(1), x), .blocks = {}};
        agreed.blocks.resize(static_cast<std::size_t>(grid.blocks.count()));
        reference::block_amax(stream_of(1), c.x, grid, agreed.blocks);
        for (std::size_t b = 0; b < agreed.blocks.size(); b += 3) agreed.blocks[b] *= 1.5f;  // another piece's
        c.where.maxima = agreed;
        expect_same(c, turn++);
      }
    }
  });
}

TEST(Family, GivenScalesEncodeAsTheReference) {
  std::uint32_t turn = 7000;
  for_each_pair([&](const Format& format, const Writer& writer) {
    for (const DType dtype : test::kSources)
      for (const Sense sense : {Sense::kMultiply, Sense::kDivide, Sense::kReciprocalFirst, Sense::kMaximum}) {
        const Extent extent = shape_near(format, 3 + turn % 12);
        QuantizedTensor like = empty_quantized(format, extent);
        like.sense = sense;
        std::mt19937 random(turn);
        for (std::size_t i = 0; i < like.scales.bytes(); ++i)
          like.scales.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(random());
        if (format.scale == kE8M23)
          for (std::int64_t i = 0; i < like.scales.count(); ++i)
            like.scales.as<float>()[i] = std::ldexp(1.f + 0.001f * static_cast<float>(random() % 999), -4);
        if (format.has_global) like.global = scalar(turn % 2 == 0 ? 0.0123f : 37.5f).reshaped({1});
        expect_same({format, writer, filled(dtype, extent, Fill::kNormal, turn), {}, &like}, turn);
        ++turn;
      }
  });
}

TEST(Family, ObservesAsTheReference) {
  std::uint32_t turn = 8000;
  for (const Format* format : all_formats()) {
    if (format->is_dense()) continue;
    for (const DType dtype : test::kSources)
      for (std::uint32_t i = 0; i < 12; ++i, ++turn) {
        const Fill fill = i % 3 == 0 ? Fill::kAny : i % 3 == 1 ? Fill::kNormal : Fill::kSubnormal;
        const Tensor x = filled(dtype, i == 11 ? Extent{2, 17011} : shape_near(*format, turn), fill, turn);
        if (x.count() == 0) continue;
        const QuantizeContext where{
            .whole = {x.extent().rows + 9, x.extent().cols + 41}, .row = i % 9, .col = 2 * (i % 5)};
        const BlockGrid grid = block_grid(*format, x.extent(), where);
        const auto count = static_cast<std::size_t>(grid.blocks.count());
        std::vector<float> wanted(count), got(count + 16, 12345.f);
        reference::block_amax(stream_of(1), x, grid, wanted);
        for (const QuantizeImpl* impl : implementations()) {
          Stream& stream = stream_of(threads_of(turn));
          impl->block_amax(stream, x, grid, std::span(got).first(count));
          EXPECT_EQ(std::memcmp(got.data(), wanted.data(), count * sizeof(float)), 0) << impl->name << " " << turn;
          EXPECT_EQ(got[count], 12345.f);
          const float most = impl->amax(stream, x), should = reference::amax(stream, x);
          EXPECT_EQ(std::bit_cast<std::uint32_t>(most), std::bit_cast<std::uint32_t>(should)) << impl->name;
        }
      }
  }
}

TEST(Family, DequantizesAsTheReference) {
  std::uint32_t turn = 9000;
  for (const Format* format : all_formats()) {
    if (format->is_dense()) continue;
    for (const DType into : test::kSources)
      for (std::uint32_t i = 0; i < 2 * kShapes && !HasFailure(); ++i, ++turn) {
        const Extent extent = i == 0 ? Extent{2, 17000} : shape_near(*format, i);
        const QuantizedTensor q = random_codes(*format, extent, turn);
        Tensor wanted(into, {extent.rows, extent.cols});
        reference::dequantize(stream_of(1), q, wanted);
        for (const QuantizeImpl* impl : implementations()) {
          Guarded got(into, {extent.rows, extent.cols}, 4 * (turn % 3));
          if (wanted.count() > 0) impl->dequantize(stream_of(threads_of(turn)), q, got.tensor());
          EXPECT_TRUE(got.is_intact()) << impl->name << " " << format->name;
          std::int64_t wrong = 0;
          const bool same = wanted.count() == 0 || std::memcmp(wanted.data(), got.tensor().data(), wanted.bytes()) == 0;
          for (std::int64_t k = 0; !same && k < wanted.count(); ++k) {
            const float a = element_as_float(wanted, k), b = element_as_float(got.tensor(), k);
            if (std::bit_cast<std::uint32_t>(a) != std::bit_cast<std::uint32_t>(b) && !(is_nan(a) && is_nan(b)))
              ++wrong;
          }
          EXPECT_EQ(wrong, 0) << impl->name << " " << format->name << " into " << dtype_name(into) << " " << extent.rows
                              << " x " << extent.cols << ", seed " << turn;
        }
      }
  }
}

}  // namespace
}  // namespace tessera
