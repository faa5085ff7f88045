// Law 11 for dequantize: any codes, any scales, any global, in every sense.
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/tensor/cuda_runtime.h"
#include "tests/gpu/cases.h"

namespace tessera::test {
namespace {

class Dequantize : public Gpu {};

Tensor globals(std::int64_t count, std::uint64_t seed) {
  Tensor t = numbers(Numbers::kGauss, DType::kF32, {1, count}, seed);
  for (std::int64_t i = 0; i < count; ++i) t.as<float>()[i] = magnitude(t.as<float>()[i]) + 1e-3f;
  return t.reshaped({count});
}

enum class Scales { kAny, kGiven };  // any bytes; scales as a writer would give

QuantizedTensor random_tensor(const Format& format, Extent extent, Scales scales, std::uint64_t seed) {
  QuantizedTensor q = empty_quantized(format, extent);
  q.codes = random_bytes(DType::kU8, q.codes.shape(), seed);
  if (scales == Scales::kAny) {
    q.scales = random_bytes(q.scales.dtype(), q.scales.shape(), seed + 1);
  } else if (q.scales.dtype() == DType::kF32) {
    q.scales = numbers(Numbers::kGauss, DType::kF32, q.scales.extent(), seed + 1);
  } else {
    q.scales = random_bytes(DType::kU8, q.scales.shape(), seed + 1);
    for (std::int64_t i = 0; i < q.scales.count(); ++i) {
      auto& byte = q.scales.as<std::uint8_t>()[i];
      byte = static_cast<std::uint8_t>(format.scale == kE8M0 ? 100 + byte % 50 : byte & 0x7eu);
    }
  }
  if (format.has_global) q.global = globals(1, seed + 2);
  return q;
}

TEST_F(Dequantize, GivesTheReferencesBytesForAnyCodesAndScales) {
  Tally tally("dequantize");
  for (const Format& format : scaled_formats()) {
    std::uint64_t seed = 1;
    for (const Extent extent : {Extent{1, 1}, Extent{3, 17}, Extent{48, 130}, Extent{5, 1024}, Extent{131, 257}}) {
      for (const Scales scales : {Scales::kAny, Scales::kGiven}) {
        for (const Sense sense : {Sense::kMultiply, Sense::kDivide, Sense::kReciprocalFirst, Sense::kMaximum}) {
          for (const bool reads_minus_zero : {true, false}) {
            for (const DType to : kSources) {
              QuantizedTensor q = random_tensor(format, extent, scales, seed += 3);
              q.sense = sense;
              q.reads_minus_zero = reads_minus_zero;
              if (format.has_global && extent.rows == 48) {
                q.segment_ends = {16, 32, 48};
                q.global = globals(3, seed + 2);
              }
              const Tensor expected = dequantize(cpu(), q, to);
              const Tensor found = dequantize(gpu(), copy(gpu(), q, gpu().device()), to);
              tally.add(difference(expected, copy(gpu(), found, kCpu), "values"),
                        fmt::format("{} {} to {}, sense {}, scales {}, minus zero {}", format_label(format),
                                    shape_text(expected.shape()), dtype_name(to), static_cast<int>(sense),
                                    static_cast<int>(scales), reads_minus_zero));
            }
          }
        }
      }
    }
  }
}

// Globals that make the product of scale and global infinite, subnormal or no number.
TEST_F(Dequantize, GivesTheReferencesBytesUnderAnyGlobal) {
  Tally tally("dequantize under any global");
  for (const Format& format : scaled_formats()) {
    if (!format.has_global) continue;
    for (const float global : {0.f, 0x1p-149f, 1e-38f, 1e-20f, 1e20f, 3e38f, kInfinity, kNaN}) {
      for (const Sense sense : {Sense::kMultiply, Sense::kDivide, Sense::kReciprocalFirst, Sense::kMaximum}) {
        for (const DType to : kSources) {
          QuantizedTensor q = random_tensor(format, {4, 512}, Scales::kAny, 77);
          q.sense = sense;
          q.global.as<float>()[0] = global;
          const Tensor expected = dequantize(cpu(), q, to);
          const Tensor found = dequantize(gpu(), copy(gpu(), q, gpu().device()), to);
          tally.add(difference(expected, copy(gpu(), found, kCpu), "values"),
                    fmt::format("{} to {}, sense {}, global {}", format_label(format), dtype_name(to),
                                static_cast<int>(sense), global));
        }
      }
    }
  }
}

// Nothing is written beside the values.
TEST_F(Dequantize, WritesItsValuesOnly) {
  Tally tally("sentinels around values");
  constexpr std::size_t kMargin = 256;
  for (const DType to : kSources) {
    for (const Extent extent : {Extent{7, 33}, Extent{4, 512}}) {
      const QuantizedTensor q = random_tensor(find_format("nvfp4"), extent, Scales::kGiven, 9);
      Tensor expected = dequantize(cpu(), q, to);
      const Tensor before = random_bytes(DType::kU8, {static_cast<std::int64_t>(expected.bytes() + 2 * kMargin)}, 10);
      const Buffer arena(before.bytes(), gpu().device());
      cuda::copy(arena.data(), before.data(), before.bytes(), gpu().native());
      Tensor into(to, expected.shape(), arena, kMargin);
      dequantize_into(gpu(), copy(gpu(), q, gpu().device()), into);
      const Tensor after = copy(gpu(), Tensor(DType::kU8, before.shape(), arena), kCpu);
      Tensor wanted = before;
      std::memcpy(wanted.data() + kMargin, expected.data(), expected.bytes());
      tally.add(difference(wanted, after, "arena"), fmt::format("{} {}", dtype_name(to), shape_text(expected.shape())));
    }
  }
}

}  // namespace
}  // namespace tessera::test
