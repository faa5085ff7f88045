// Matrices for the family law: what trips quantizers, in every dtype.
#pragma once
#include <array>
#include <cmath>
#include <random>

#include "tessera/numeric/lanes.h"
#include "tessera/tensor/quantized_tensor.h"

namespace tessera::test {

enum class Fill {
  kNormal,     // Gaussian, rows of different ranges
  kTies,       // halfway between codes, once scales are powers of two
  kZeros,      // +0 and -0, with a few numbers
  kSubnormal,  // around and under the smallest normal number
  kHuge,       // up to the largest finite number
  kAnyFinite,  // random bits that are finite
  kAny,        // random bits: infinities and NaNs of every kind
  kOneStray,   // Gaussian with one infinity or NaN
};
inline constexpr std::array kFiniteFills{Fill::kNormal,    Fill::kTies, Fill::kZeros,
                                         Fill::kSubnormal, Fill::kHuge, Fill::kAnyFinite};
inline constexpr std::array kStrayFills{Fill::kAny, Fill::kOneStray};
inline constexpr std::array kSources{DType::kF32, DType::kBf16, DType::kF16};

inline float value_of(Fill fill, std::mt19937& random, std::int64_t row) {
  constexpr float kTies[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.f, 6.f, 0.5f, 1.f, 0.0625f, 17.f, 0.f};
  const auto gauss = [&] { return std::normal_distribution<float>()(random); };
  const auto sign = [&] { return (random() & 1u) != 0 ? -1.f : 1.f; };
  switch (fill) {
    case Fill::kTies:
      return sign() * kTies[random() % std::size(kTies)] * std::ldexp(1.f, static_cast<int>(row % 5) - 2);
    case Fill::kZeros:
      return random() % 16 == 0 ? gauss() : sign() * 0.f;
    case Fill::kSubnormal:
      return sign() * std::ldexp(gauss(), -132 + static_cast<int>(random() % 8));
    case Fill::kHuge:
      return gauss() * 0x1p125f;
    default:
      return gauss() * std::ldexp(1.f, static_cast<int>(row % 7) - 3);
  }
}

// The bits of one element of `dtype`, in the low bits.
inline std::uint32_t element_bits(Fill fill, DType dtype, std::mt19937& random, std::int64_t row) {
  const std::uint32_t infinity = dtype == DType::kF32 ? 0x7f800000u : dtype == DType::kBf16 ? 0x7f80u : 0x7c00u;
  const std::uint32_t all = dtype == DType::kF32 ? 0xffffffffu : 0xffffu;
  if (fill == Fill::kAny || fill == Fill::kAnyFinite) {
    std::uint32_t bits = static_cast<std::uint32_t>(random()) & all;
    if (fill == Fill::kAnyFinite && (bits & infinity) == infinity) bits &= ~infinity;
    return bits;
  }
  float value = value_of(fill, random, row);
  if (dtype == DType::kF16 && fill == Fill::kHuge) value *= 0x1p-112f;
  if (dtype == DType::kF16 && fill == Fill::kSubnormal) value *= 0x1p112f;
  const float rounded = round_to(dtype, value);
  return dtype == DType::kF32 ? std::bit_cast<std::uint32_t>(rounded) : bits16(dtype, rounded);
}

inline void store_bits(Tensor& t, std::int64_t index, std::uint32_t bits) {
  if (t.dtype() == DType::kF32)
    t.as<std::uint32_t>()[index] = bits;
  else
    t.as<std::uint16_t>()[index] = static_cast<std::uint16_t>(bits);
}

inline Tensor filled(DType dtype, Extent extent, Fill fill, std::uint32_t seed) {
  std::mt19937 random(seed);
  Tensor x(dtype, {extent.rows, extent.cols});
  for (std::int64_t i = 0; i < x.count(); ++i)
    store_bits(x, i, element_bits(fill, dtype, random, i / std::max<std::int64_t>(1, extent.cols)));
  if (fill == Fill::kOneStray && x.count() > 0) {
    const std::uint32_t infinity = dtype == DType::kF32 ? 0xff800000u : dtype == DType::kBf16 ? 0xff80u : 0xfc00u;
    store_bits(x, static_cast<std::int64_t>(random()) % x.count(), infinity | (random() & 1u));
  }
  return x;
}

// Any codes under any scales. Which of two NaNs a product keeps is the processor's choice: any NaN equals any
// other.
inline QuantizedTensor random_codes(const Format& format, Extent extent, std::uint32_t seed) {
  QuantizedTensor q = empty_quantized(format, extent);
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < q.codes.bytes(); ++i) q.codes.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(random());
  for (std::size_t i = 0; i < q.scales.bytes(); ++i)
    q.scales.as<std::uint8_t>()[i] =
        static_cast<std::uint8_t>(seed % 4 == 0           ? random()
                                  : format.scale == kE8M0 ? 110 + random() % 30
                                                          : random() % (max_code(format.scale) + 1));
  if (format.scale == kE8M23)
    for (std::int64_t i = 0; i < q.scales.count(); ++i)
      q.scales.as<float>()[i] = std::normal_distribution<float>()(random) * (seed % 4 == 0 ? 0x1p124f : 1.f);
  q.sense = static_cast<Sense>(seed / 2 % 4);
  q.reads_minus_zero = seed % 2 == 0;
  if (!format.has_global) return q;
  const std::int64_t height = block_in(format, extent).rows;
  if (seed % 5 == 0 && extent.rows > 2 * height) q.segment_ends = {height, height, 2 * height, extent.rows};
  const float globals[] = {0.0123f, 1.f, seed % 7 == 0 ? kInfinity : 3e-5f, seed % 7 == 1 ? 0.f : 2688.f};
  q.global = Tensor(DType::kF32, {q.segment_ends.empty() ? 1 : 4});
  for (std::int64_t i = 0; i < q.global.count(); ++i)
    q.global.as<float>()[i] = globals[(static_cast<std::size_t>(i) + seed) % 4];
  return q;
}

}  // namespace tessera::test
