// Law 11 for quantize: the GPU's bytes are the reference's, for every format, writer, dtype and cut.
#include <cstdlib>
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize_job.h"
#include "tests/gpu/cases.h"

namespace tessera::test {
namespace {

class Quantize : public Gpu {
 protected:
  // One case on both devices.
  std::string compare(const Tensor& x, const OperandSpec& spec, const QuantizeContext& where) {
    const Outcome expected = outcome_of([&] { return quantize(cpu(), x, spec, where); });
    const Tensor there = copy(gpu(), x, gpu().device());
    const Outcome found = outcome_of([&] { return quantize(gpu(), there, spec, where); });
    return difference(gpu(), expected, found);
  }
};

std::string name_of(const OperandSpec& spec, const Tensor& x, Numbers kind) {
  return fmt::format("{} by {}, {} {}, numbers {}", format_label(spec.format), spec.writer->name, dtype_name(x.dtype()),
                     shape_text(x.shape()), static_cast<int>(kind));
}

constexpr RandomKey kKey{.seed = 0x1234567890abcdefu, .stream = 42};

// TESSERA_GPU_SWEEP=small: fewer shapes, for the memory checker.
bool is_small() {
  const char* sweep = std::getenv("TESSERA_GPU_SWEEP");
  return sweep != nullptr && std::string_view(sweep) == "small";
}

TEST_F(Quantize, GivesTheReferencesBytesForEveryFormatWriterDtypeAndShape) {
  Tally tally("quantize");
  std::vector<Extent> extents{{3, 17}, {17, 130}, {2, 256}};
  if (!is_small())
    extents.insert(extents.end(),
                   {{1, 1}, {1, 16}, {5, 32}, {7, 48}, {16, 16}, {1, 1031}, {33, 256}, {131, 257}, {0, 16}});
  for (const Format& format : scaled_formats()) {
    for (const Writer* writer : all_writers()) {
      if (!writer->supports(format)) continue;
      std::uint64_t seed = 1;
      for (const Extent extent : extents) {
        for (const DType dtype : kSources) {
          for (const Numbers kind : kAllNumbers) {
            const Tensor x = numbers(kind, dtype, extent, ++seed);
            const OperandSpec spec{.format = format, .writer = writer};
            tally.add(compare(x, spec, {.key = kKey}), name_of(spec, x, kind));
          }
        }
      }
    }
  }
}

// The kernels of one pass, at sizes with many blocks of threads.
TEST_F(Quantize, GivesTheReferencesBytesInOnePass) {
  Tally tally("quantize in one pass");
  const std::vector<Extent> extents =
      is_small() ? std::vector<Extent>{{3, 512}} : std::vector<Extent>{{3, 512}, {61, 1536}, {257, 1024}};
  for (const Format& format : scaled_formats()) {
    for (const Writer* writer : all_writers()) {
      if (!writer->supports(format) || writer->candidates > 1 || format.block.rows != 1) continue;
      std::uint64_t seed = 100;
      for (const Extent extent : extents) {
        for (const Numbers kind : kAllNumbers) {
          const Tensor x = numbers(kind, DType::kBf16, extent, ++seed);
          const OperandSpec spec{.format = format, .writer = writer};
          tally.add(compare(x, spec, {.key = kKey}), name_of(spec, x, kind));
        }
      }
    }
  }
}

// Globals that leave blocks far from the range that they were made for: saturation, vanishing scales, infinities.
TEST_F(Quantize, GivesTheReferencesBytesUnderAnyAgreedMaximum) {
  Tally tally("quantize under an agreed maximum");
  const Extent extent{9, 544};
  for (const Format& format : scaled_formats()) {
    if (!format.has_global) continue;
    for (const Writer* writer : all_writers()) {
      if (!writer->supports(format)) continue;
      for (const float amax : {0.f, 0x1p-140f, 1e-30f, 1e-4f, 0.05f, 1.f, 3e4f, 1e30f, 3e38f, kInfinity, kNaN}) {
        for (const Numbers kind : kAllNumbers) {
          const Tensor x = numbers(kind, DType::kBf16, extent, 7);
          const OperandSpec spec{.format = format, .writer = writer};
          const QuantizeContext where{.whole = extent, .maxima = Maxima{.tensor = amax}, .key = kKey};
          tally.add(compare(x, spec, where), fmt::format("{}, amax {}", name_of(spec, x, kind), amax));
        }
      }
    }
  }
}

Tensor piece_of(const Tensor& whole, std::int64_t row, std::int64_t col, Extent extent) {
  Tensor piece(whole.dtype(), {extent.rows, extent.cols});
  const std::int64_t size = dtype_bits(whole.dtype()) / 8;
  for (std::int64_t r = 0; r < extent.rows; ++r)
    std::memcpy(piece.data() + r * extent.cols * size, whole.data() + ((row + r) * whole.extent().cols + col) * size,
                static_cast<std::size_t>(extent.cols * size));
  return piece;
}

// Laws 4 and 11: pieces cut in granules, and pieces that straddle blocks and bring their maxima.
TEST_F(Quantize, GivesTheReferencesBytesOfPieces) {
  Tally tally("quantize pieces");
  struct Cut {
    std::int64_t row, col;
    Extent extent;
  };
  const Extent whole{70, 384};
  const Cut cuts[] = {{0, 0, {70, 384}}, {32, 128, {16, 256}}, {16, 0, {54, 128}}, {48, 256, {22, 128}},
                      {5, 30, {9, 70}},  {69, 382, {1, 2}},    {1, 2, {66, 380}}};
  for (const Format& format : scaled_formats()) {
    for (const Writer* writer : all_writers()) {
      if (!writer->supports(format)) continue;
      for (const DType dtype : kSources) {
        for (const Numbers kind : {Numbers::kGauss, Numbers::kFinite, Numbers::kTies}) {
          const Tensor x = numbers(kind, dtype, whole, 11);
          const OperandSpec spec{.format = format, .writer = writer};
          const Maxima all = observe(cpu(), x, format);
          for (const Cut& cut : cuts) {
            const Tensor piece = piece_of(x, cut.row, cut.col, cut.extent);
            QuantizeContext where{.whole = whole, .row = cut.row, .col = cut.col, .key = kKey};
            // The maxima of the blocks that the piece touches, of the whole's.
            const BlockGrid grid = block_grid(format, cut.extent, where);
            const std::int64_t across = scale_extent(format, whole).cols;
            Maxima agreed{.tensor = all.tensor};
            for (std::int64_t r = 0; r < grid.blocks.rows; ++r)
              for (std::int64_t c = 0; c < grid.blocks.cols; ++c)
                agreed.blocks.push_back(
                    all.blocks[static_cast<std::size_t>((grid.first_row + r) * across + grid.first_col + c)]);
            where.maxima = Maxima{.tensor = all.tensor};
            const std::string name = fmt::format("{} at {}, {}", name_of(spec, piece, kind), cut.row, cut.col);
            tally.add(compare(piece, spec, where), name + ", tensor maximum");
            where.maxima = agreed;
            tally.add(compare(piece, spec, where), name + ", block maxima");
          }
        }
      }
    }
  }
}

TEST_F(Quantize, EncodesUnderGivenScalesInEverySenseAndSegment) {
  Tally tally("encode_like");
  for (const Format& format : scaled_formats()) {
    for (const Writer* writer : all_writers()) {
      if (!writer->supports(format)) continue;
      for (const DType dtype : kSources) {
        for (const Sense sense : {Sense::kMultiply, Sense::kDivide, Sense::kReciprocalFirst, Sense::kMaximum}) {
          const Extent extent{48, 160};
          const Tensor x = numbers(Numbers::kGauss, dtype, extent, 5);
          const OperandSpec spec{.format = format, .writer = writer};
          Outcome made = outcome_of([&] { return quantize(cpu(), x, spec); });
          if (!made.error.empty()) continue;
          QuantizedTensor& like = made.tensor;
          like.sense = sense;
          if (format.has_global && format.block.rows != 0) {
            const float g = like.global.as<float>()[0];
            like.segment_ends = {16, 32, 48};
            like.global = Tensor(DType::kF32, {3});
            for (int i = 0; i < 3; ++i)
              like.global.as<float>()[i] = sense == Sense::kMultiply ? g * static_cast<float>(i + 1) : 1 / g;
          }
          const Tensor y = numbers(Numbers::kSpecials, dtype, extent, 6);
          const QuantizedTensor there = copy(gpu(), like, gpu().device());
          const Outcome expected = outcome_of([&] { return encode_like(cpu(), y, spec, like, {.key = kKey}); });
          const Outcome found = outcome_of(
              [&] { return encode_like(gpu(), copy(gpu(), y, gpu().device()), spec, there, {.key = kKey}); });
          tally.add(difference(gpu(), expected, found),
                    fmt::format("{}, sense {}", name_of(spec, y, Numbers::kSpecials), static_cast<int>(sense)));
        }
      }
    }
  }
}

TEST_F(Quantize, ObservesTheReferencesMaxima) {
  Tally tally("observe");
  for (const Format& format : scaled_formats()) {
    for (const DType dtype : kSources) {
      for (const Numbers kind : kAllNumbers) {
        for (const Extent extent : {Extent{1, 1}, Extent{37, 133}, Extent{300, 4100}}) {
          if (extent.count() > 100000 && (is_small() || kind != Numbers::kFinite)) continue;
          const Tensor x = numbers(kind, dtype, extent, 3);
          const Maxima expected = observe(cpu(), x, format),
                       found = observe(gpu(), copy(gpu(), x, gpu().device()), format);
          const auto bits = [](const Maxima& m) {
            std::vector<std::uint32_t> all{std::bit_cast<std::uint32_t>(m.tensor)};
            for (const float b : m.blocks) all.push_back(std::bit_cast<std::uint32_t>(b));
            return all;
          };
          tally.add(bits(expected) == bits(found) ? "" : "other maxima",
                    fmt::format("{} {} {}", format_label(format), dtype_name(dtype), shape_text(x.shape())));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
