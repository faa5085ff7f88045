// Maxima of magnitudes. Bit patterns of |x| order as the magnitudes do, a NaN above infinity, so they are integers
// here.
#pragma once
#include "tessera/kernels/cpu/lane_kernels.h"
#include "tessera/kernels/cpu/lane_types.h"

namespace tessera::cpu {

using tessera_lanes::Row;

inline constexpr std::int64_t kSmallBlock = 16;

// Patterns of 16 bits (in words) become those of f32. Their NaNs become the one that decode() gives.
template <class Ops, DType kSource>
typename Ops::U widen_patterns(typename Ops::U patterns) {
  using F = typename Ops::F;
  if constexpr (kSource == DType::kF32) return patterns;
  Word<F> wide = patterns << 16;
  if constexpr (kSource == DType::kF16) wide = word_of(Ops::from_f16(Ops::halves_of_words(patterns)));
  return wide > all_words<F>(0x7f800000u) ? all_words<F>(0x7fc00000u) : wide;
}
template <class Ops, DType kSource>
std::uint32_t widen_pattern(std::uint32_t pattern) {
  return widen_patterns<Ops, kSource>(typename Ops::U{} + pattern)[0];
}

// The largest of one run, as a pattern of the source.
template <class Ops, DType kSource>
std::uint32_t run_amax(const void* x, std::int64_t count) {
  constexpr std::int64_t kStep = sizeof(typename Ops::U) / bytes_of(kSource);
  constexpr std::uint32_t kMagnitudes = kSource == DType::kF32 ? 0x7fffffffu : 0x7fff7fffu;
  using U = typename Ops::U;
  const auto* bytes = static_cast<const std::uint8_t*>(x);
  const auto larger = [](U a, U b) {
    if constexpr (kSource == DType::kF32)
      return Ops::max_words(a, b);
    else
      return Ops::max_halves(a, b);
  };
  U most[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * kStep <= count; i += 4 * kStep)
    for (std::size_t k = 0; k < 4; ++k)
      most[k] = larger(most[k], load<U>(bytes + i * bytes_of(kSource) + k * sizeof(U)) & kMagnitudes);
  for (; i + kStep <= count; i += kStep)
    most[0] = larger(most[0], load<U>(bytes + i * bytes_of(kSource)) & kMagnitudes);
  if (i < count) {
    U rest{};
    __builtin_memcpy(&rest, bytes + i * bytes_of(kSource), static_cast<std::size_t>((count - i) * bytes_of(kSource)));
    most[1] = larger(most[1], rest & kMagnitudes);
  }
  U all = larger(larger(most[0], most[1]), larger(most[2], most[3]));
  if constexpr (kSource != DType::kF32) all = Ops::max_words(all & 0xffffu, all >> 16);
  return Ops::largest_word(all);
}

template <class Ops>
void raise(float* maxima, typename Ops::U patterns) {
  const auto old = load<typename Ops::U>(maxima);
  store(maxima, Ops::max_words(old, patterns));
}

// Maxima of blocks of 16 or 32, kLanes blocks at a time. Returns how many blocks were taken.
template <class Ops, DType kSource>
std::int64_t small_block_amax(const Row& row, float* maxima) {
  constexpr std::int64_t kBytes = bytes_of(kSource);
  const auto* x = static_cast<const std::uint8_t*>(row.x);
  std::int64_t b = 0;
  for (; (b + Ops::kLanes) * row.block <= row.count; b += Ops::kLanes) {
    const std::uint8_t* from = x + b * row.block * kBytes;
    typename Ops::U patterns;
    if constexpr (kSource == DType::kF32) {
      for (int k = 0; k < Ops::kLanes; ++k)
        patterns[k] = run_amax<Ops, kSource>(from + k * row.block * kBytes, row.block);
    } else {
      patterns = row.block == kSmallBlock ? Ops::maxima_of_16(from) : Ops::maxima_of_32(from);
    }
    raise<Ops>(maxima + b, widen_patterns<Ops, kSource>(patterns));
  }
  return b;
}

template <class Ops, DType kSource>
void block_amax_of(const Row& row, float* maxima) {
  constexpr std::int64_t kBytes = bytes_of(kSource);
  const auto* x = static_cast<const std::uint8_t*>(row.x);
  std::int64_t b = 0, at = 0;
  const bool small = row.block == kSmallBlock || row.block == 2 * kSmallBlock;
  if (small && row.first == row.block) {
    b = small_block_amax<Ops, kSource>(row, maxima);
    at = b * row.block;
  }
  for (; at < row.count; ++b) {
    const std::int64_t wanted = b == 0 ? row.first : row.block;
    const std::int64_t n = wanted < row.count - at ? wanted : row.count - at;
    const std::uint32_t pattern = widen_pattern<Ops, kSource>(run_amax<Ops, kSource>(x + at * kBytes, n));
    std::uint32_t old;
    __builtin_memcpy(&old, maxima + b, sizeof old);
    if (pattern > old) __builtin_memcpy(maxima + b, &pattern, sizeof pattern);
    at += n;
  }
}

template <class Ops>
void block_amax(int source, const Row& row, float* maxima) {
  if (source == static_cast<int>(DType::kBf16)) return block_amax_of<Ops, DType::kBf16>(row, maxima);
  if (source == static_cast<int>(DType::kF16)) return block_amax_of<Ops, DType::kF16>(row, maxima);
  block_amax_of<Ops, DType::kF32>(row, maxima);
}

template <class Ops>
std::uint32_t amax(int source, const void* x, std::int64_t count) {
  if (source == static_cast<int>(DType::kBf16))
    return widen_pattern<Ops, DType::kBf16>(run_amax<Ops, DType::kBf16>(x, count));
  if (source == static_cast<int>(DType::kF16))
    return widen_pattern<Ops, DType::kF16>(run_amax<Ops, DType::kF16>(x, count));
  return run_amax<Ops, DType::kF32>(x, count);
}

}  // namespace tessera::cpu
