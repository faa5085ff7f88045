// What the two AVX-512 tiers of gemm_panels.h share: vectors, tables of codes, scales. Included by their units, after
// the types of their lanes.
#pragma once
#include <immintrin.h>

#include "tessera/kernels/cpu/gemm_panels.h"

namespace tessera::cpu {
namespace {

// Values of the 128 magnitudes of an 8-bit element as bf16, which holds them exactly, a table for each byte.
struct ByteTables {
  alignas(64) std::uint8_t low[128];
  alignas(64) std::uint8_t high[128];
};
constexpr ByteTables byte_tables(Element element) {
  ByteTables t{};
  for (std::uint32_t i = 0; i < 128; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(decode(element, i)) >> 16;
    t.low[i] = static_cast<std::uint8_t>(bits);
    t.high[i] = static_cast<std::uint8_t>(bits >> 8);
  }
  return t;
}
constexpr ByteTables kE4M3Tables = byte_tables(kE4M3), kE5M2Tables = byte_tables(kE5M2);

struct Avx512Base {
  using F = AvxFloats;
  using U = AvxWords;
  static constexpr int kLanes = 16, kStrip = 4, kBlock = 6;

  static __m512i m(U x) { return std::bit_cast<__m512i>(x); }
  static U u(__m512i x) { return std::bit_cast<U>(x); }
  static __m512 f(F x) { return std::bit_cast<__m512>(x); }
  static F g(__m512 x) { return std::bit_cast<F>(x); }
  static F fused(F a, F b, F c) { return g(_mm512_fmadd_ps(f(a), f(b), f(c))); }
  static void to_bf16(F x, std::uint16_t* out) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi32_epi16(m(word_of(x) >> 16)));
  }

  // 64 bytes and the bytes of their values.
  struct Halves {
    __m512i low, high;
  };
  static Halves look_up(const ByteTables& tables, __m512i codes) {
    return {_mm512_permutex2var_epi8(_mm512_load_si512(tables.low), codes, _mm512_load_si512(tables.low + 64)),
            _mm512_permutex2var_epi8(_mm512_load_si512(tables.high), codes, _mm512_load_si512(tables.high + 64))};
  }
  // Pairs of bf16 from 64 codes of 8 bits: of k and k + 1, and of k + 2 and k + 3.
  template <class See>
  __attribute__((always_inline)) static void pairs_of_bytes(const ByteTables& tables, const std::uint8_t* codes,
                                                            const See& see) {
    const __m512i raw = _mm512_loadu_si512(codes), sign = _mm512_set1_epi8(static_cast<char>(0x80));
    const Halves value = look_up(tables, raw);
    const __m512i high = _mm512_ternarylogic_epi32(value.high, raw, sign, 0xf8);  // high | (raw & sign)
    see(std::integral_constant<int, 0>{}, u(_mm512_unpacklo_epi8(value.low, high)));
    see(std::integral_constant<int, 1>{}, u(_mm512_unpackhi_epi8(value.low, high)));
  }
  // see(pair, U) for the 8 pairs of 16 k, as bf16.
  template <Codes kCodes, class See>
  __attribute__((always_inline)) static void visit_pairs(const std::uint8_t* codes, const See& see) {
    if constexpr (kCodes == Codes::kBf16) {
      unrolled<8>([&](auto p) __attribute__((always_inline)) { see(p, load<U>(codes + p * 64)); });
    } else {
      const ByteTables& tables = kCodes == Codes::kE4M3 ? kE4M3Tables : kE5M2Tables;
      unrolled<4>([&](auto i) __attribute__((always_inline)) {
        pairs_of_bytes(tables, codes + i * 64, [&](auto p, U w) __attribute__((always_inline)) {
          see(std::integral_constant<int, decltype(i)::value * 2 + decltype(p)::value>{}, w);
        });
      });
    }
  }

  static void read_scales(Scales kind, const std::uint8_t* at, std::int64_t chains, float* out) {
    if (kind == Scales::kNone) {
      for (std::int64_t c = 0; c < chains; ++c) store(out + c * kPanelRows, all<F>(1.f));
    } else if (kind == Scales::kF32) {
      __builtin_memcpy(out, at, static_cast<std::size_t>(chains * kPanelRows) * sizeof(float));
    } else if (kind == Scales::kE8M0 || kind == Scales::kUE5M3) {
      for (std::int64_t c = 0; c < chains; ++c) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + c * kPanelRows));
        const U bits = u(_mm512_cvtepu8_epi32(bytes));
        store(out + c * kPanelRows, kind == Scales::kE8M0 ? decode_e8m0<F>(bits) : decode_magnitude<F>(kUE5M3, bits));
      }
    } else {
      read_e4m3_scales(at, chains, out);
    }
  }
  // All of a step at once: the upper half of a float is the bf16 of a byte without its sign.
  static void read_e4m3_scales(const std::uint8_t* at, std::int64_t chains, float* out) {
    alignas(64) static constexpr auto kSpread = [] {
      struct {
        std::uint8_t index[kStepChains][64];
      } t{};
      for (int c = 0; c < kStepChains; ++c)
        for (int r = 0; r < kPanelRows; ++r) {
          t.index[c][r * 4 + 2] = static_cast<std::uint8_t>(c * kPanelRows + r);
          t.index[c][r * 4 + 3] = static_cast<std::uint8_t>(64 + c * kPanelRows + r);
        }
      return t;
    }();
    const __mmask64 here = chains == kStepChains ? ~__mmask64{0} : (__mmask64{1} << (chains * kPanelRows)) - 1;
    const Halves value = look_up(kE4M3Tables, _mm512_maskz_loadu_epi8(here, at));
    for (std::int64_t c = 0; c < chains; ++c)
      _mm512_store_si512(out + c * kPanelRows,
                         _mm512_maskz_permutex2var_epi8(0xcccccccccccccccc, value.low,
                                                        _mm512_load_si512(kSpread.index[c]), value.high));
  }
};

}  // namespace
}  // namespace tessera::cpu
