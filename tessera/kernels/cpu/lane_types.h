// Vectors of a tier: loads, stores and conversions that need no instruction of their own. `Ops` is the tier's set of
// types and instructions (tier_avx512.cc says what it must have).
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

#include "tessera/numeric/format.h"
#include "tessera/numeric/lanes.h"

namespace tessera::cpu {

inline constexpr std::int64_t kChunk = 64;  // elements that the general loops take at a time

template <class V>
V load(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
void store(void* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}
template <class T>
T struct_at(const void* bytes) {
  T value;
  __builtin_memcpy(&value, bytes, sizeof value);
  return value;
}

template <class Ops>
using FloatsOf = typename Ops::F;
template <class Ops>
using WordsOf = typename Ops::U;

constexpr int bytes_of(DType t) { return t == DType::kF32 ? 4 : 2; }

// kLanes values from `x`, widened exactly; a NaN of f16 becomes the one that decode() gives.
template <class Ops, DType kSource>
typename Ops::F load_floats(const void* x) {
  using F = typename Ops::F;
  if constexpr (kSource == DType::kF32) {
    return load<F>(x);
  } else {
    const auto narrow = load<typename Ops::HalfH>(x);
    if constexpr (kSource == DType::kBf16) {
      return float_of<F>(Ops::words_of_halves(narrow) << 16);
    } else {
      const F wide = Ops::from_f16(narrow);
      const Word<F> nan = (word_of(wide) & 0x80000000u) | 0x7fc00000u;
      return is_nan_lane(wide) ? float_of<F>(nan) : wide;
    }
  }
}

// kLanes words, each a byte.
template <class Ops>
void store_bytes(std::uint8_t* to, typename Ops::U words) {
  store(to, Ops::bytes_of_words(words));
}
template <class Ops>
typename Ops::U load_bytes(const std::uint8_t* from) {
  return Ops::words_of_bytes(load<typename Ops::ByteLanes>(from));
}

// Scales [first, first + n) of an array as stored, n at most kLanes: their bits, and back.
template <class Ops>
typename Ops::U load_scales(const Format& format, const void* scales, std::int64_t first, std::int64_t n) {
  const bool wide = format.scale == kE8M23;
  const auto* from = static_cast<const std::uint8_t*>(scales) + (wide ? 4 * first : first);
  if (n >= Ops::kLanes) return wide ? load<typename Ops::U>(from) : load_bytes<Ops>(from);
  alignas(64) std::uint8_t some[sizeof(typename Ops::U)] = {};
  __builtin_memcpy(some, from, static_cast<std::size_t>(wide ? 4 * n : n));
  return wide ? load<typename Ops::U>(some) : load_bytes<Ops>(some);
}
template <class Ops>
void store_scales(const Format& format, void* scales, std::int64_t first, std::int64_t n, typename Ops::U bits) {
  const bool wide = format.scale == kE8M23;
  auto* to = static_cast<std::uint8_t*>(scales) + (wide ? 4 * first : first);
  alignas(64) std::uint8_t some[sizeof(typename Ops::U)];
  std::uint8_t* at = n >= Ops::kLanes ? to : some;
  if (wide)
    store(at, bits);
  else
    store_bytes<Ops>(at, bits);
  if (n < Ops::kLanes) __builtin_memcpy(to, some, static_cast<std::size_t>(wide ? 4 * n : n));
}

// kChunk bytes that are codes of 4 bits become kChunk / 2 bytes, the first in the low nibble; and back.
template <class Ops>
void pack_nibbles(const std::uint8_t* codes, std::uint8_t* to) {
  using H = typename Ops::HalfH;  // kLanes words of 16 bits
  for (std::int64_t i = 0; i < kChunk; i += 2 * Ops::kLanes) {
    const H pair = load<H>(codes + i);
    const H packed = (pair | (pair >> 4)) & 0xff;
    store(to + i / 2, Ops::bytes_of_halves(packed));
  }
}
template <class Ops>
void unpack_nibbles(const std::uint8_t* packed, std::uint8_t* to) {
  using H = typename Ops::HalfH;
  for (std::int64_t i = 0; i < kChunk; i += 2 * Ops::kLanes) {
    const H byte = Ops::halves_of_bytes(load<typename Ops::ByteLanes>(packed + i / 2));
    store(to + i, (byte & 0xf) | ((byte & 0xf0) << 4));
  }
}

// kChunk codes of `bits` bits, a byte each, one behind the other, and back. Codes of 6 bits take three bytes for four.
template <class Ops>
void pack_codes(int bits, const std::uint8_t* codes, std::uint8_t* to) {
  if (bits == 4) return pack_nibbles<Ops>(codes, to);
  for (std::int64_t i = 0; i < kChunk; ++i) append_code(to, bits, i, codes[i]);
}
template <class Ops>
void unpack_codes(int bits, const std::uint8_t* packed, std::uint8_t* to) {
  if (bits == 4) return unpack_nibbles<Ops>(packed, to);
  for (std::int64_t i = 0; i < kChunk; ++i) to[i] = static_cast<std::uint8_t>(load_code(packed, bits, i));
}

// The value of a code of a small signed element.
template <class Ops>
typename Ops::F decode_element(Element element, typename Ops::U code) {
  using F = typename Ops::F;
  const auto sign_shift = static_cast<std::uint32_t>(32 - element.bits());
  return float_of<F>(word_of(decode_magnitude<F>(element, code)) | ((code << sign_shift) & 0x80000000u));
}

// bits16() of lanes.
template <class Ops>
typename Ops::U rounded_bits16(DType type, typename Ops::F value) {
  using F = typename Ops::F;
  const Word<F> bits = word_of(value), sign = (bits >> 31) << 15;
  const auto nan = is_nan_lane(value);
  if (type == DType::kBf16) {
    const Word<F> rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return nan ? sign | 0x7fc0u : rounded;
  }
  const Word<F> rounded = Ops::words_of_halves(Ops::to_f16(value));
  return nan ? sign | 0x7e00u : rounded;
}

// What belongs to the block of each element, element after element.
struct BlockCursor {
  const float* values;
  std::int64_t block, left;  // left: elements of the present block that are still to come

  void fill(float* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t n = left < count - i ? left : count - i;
      for (std::int64_t k = 0; k < n; ++k) to[i + k] = *values;
      i += n;
      left -= n;
      if (left == 0) {
        ++values;
        left = block;
      }
    }
  }
};

}  // namespace tessera::cpu
