// AVX-512 (F, BW, DQ, VL, VBMI): 16 lanes. See tier_avx2.cc for what each operation does.
//
// A namespace of its own: this unit is compiled for processors that others need not have (lane_kernels.h).
#define tessera tessera_avx512
#include <immintrin.h>

#include "tessera/kernels/cpu/lane_kernels.h"
#include "tessera/numeric/lanes.h"

namespace tessera {
typedef float AvxFloats __attribute__((vector_size(64)));
typedef std::uint32_t AvxWords __attribute__((vector_size(64)));
typedef std::int32_t AvxInts __attribute__((vector_size(64)));
template <>
struct LaneTraits<AvxFloats> {
  using Word = AvxWords;
  using Int = AvxInts;
  static constexpr int kCount = 16;
};
}  // namespace tessera

#include "tessera/kernels/cpu/quantize_lanes.h"

namespace tessera::cpu {
namespace {

struct Avx512 {
  using F = AvxFloats;
  using U = AvxWords;
  using I = AvxInts;
  typedef std::uint16_t HalfH __attribute__((vector_size(32)));
  typedef std::uint8_t ByteLanes __attribute__((vector_size(16)));
  static constexpr int kLanes = 16;
  struct Wide {
    U low, high;
  };

  static __m512i m(U x) { return std::bit_cast<__m512i>(x); }
  static U u(__m512i x) { return std::bit_cast<U>(x); }
  static __m512 f(F x) { return std::bit_cast<__m512>(x); }
  static F g(__m512 x) { return std::bit_cast<F>(x); }

  static U words_of_bytes(ByteLanes x) { return u(_mm512_cvtepu8_epi32(std::bit_cast<__m128i>(x))); }
  static U words_of_halves(HalfH x) { return u(_mm512_cvtepu16_epi32(std::bit_cast<__m256i>(x))); }
  static HalfH halves_of_bytes(ByteLanes x) {
    return std::bit_cast<HalfH>(_mm256_cvtepu8_epi16(std::bit_cast<__m128i>(x)));
  }
  static ByteLanes bytes_of_words(U x) { return std::bit_cast<ByteLanes>(_mm512_cvtepi32_epi8(m(x))); }
  static HalfH halves_of_words(U x) { return std::bit_cast<HalfH>(_mm512_cvtepi32_epi16(m(x))); }
  static ByteLanes bytes_of_halves(HalfH x) {
    return std::bit_cast<ByteLanes>(_mm256_cvtepi16_epi8(std::bit_cast<__m256i>(x)));
  }
  static F from_f16(HalfH x) { return g(_mm512_cvtph_ps(std::bit_cast<__m256i>(x))); }
  static HalfH to_f16(F x) { return std::bit_cast<HalfH>(_mm512_cvtps_ph(f(x), _MM_FROUND_TO_NEAREST_INT)); }
  static void widen_f16(U x, F& low, F& high) {
    low = g(_mm512_cvtph_ps(_mm512_castsi512_si256(m(x))));
    high = g(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(m(x), 1)));
  }
  static F evens(F low, F high) {
    const __m512i at = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return g(_mm512_permutex2var_ps(f(low), at, f(high)));
  }
  static F odds(F low, F high) {
    const __m512i at = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return g(_mm512_permutex2var_ps(f(low), at, f(high)));
  }
  static F fused(F a, F b, F c) { return g(_mm512_fmadd_ps(f(a), f(b), f(c))); }
  static F fused_minus(F a, F b, F c) { return g(_mm512_fnmadd_ps(f(a), f(b), f(c))); }
  static F larger(F a, F b) { return g(_mm512_max_ps(f(a), f(b))); }
  static F choose(F table, U index) { return g(_mm512_permutexvar_ps(m(index), f(table))); }
  static constexpr bool kChoosesOfTwo = true;
  static F choose_of_two(F low, F high, U index) { return g(_mm512_permutex2var_ps(f(low), m(index), f(high))); }
  static U max_words(U a, U b) { return u(_mm512_max_epu32(m(a), m(b))); }
  static U max_halves(U a, U b) { return u(_mm512_max_epu16(m(a), m(b))); }
  static std::uint32_t largest_word(U a) { return _mm512_reduce_max_epu32(m(a)); }
  static bool all_lanes(I mask) { return _mm512_movepi32_mask(std::bit_cast<__m512i>(mask)) == 0xffff; }
  static I lanes_from(int n) {
    return std::bit_cast<I>(_mm512_movm_epi32(static_cast<__mmask16>(n >= 16 ? 0u : 0xffffu << n)));
  }
  static Wide multiply_wide(U a, std::uint32_t b) {
    const __m512i by = _mm512_set1_epi32(static_cast<int>(b));
    const __m512i even = _mm512_mul_epu32(m(a), by), odd = _mm512_mul_epu32(_mm512_srli_epi64(m(a), 32), by);
    const __m512i high = _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
    const __m512i low = _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
    return {u(low), u(high)};
  }

  // Each 256 bits of the vectors are a block of 16 patterns of 16 bits; two vectors fold to 128 bits a block, and so on
  // down to one word a block; the last permutation brings the blocks in order.
  static U maxima_of_pairs(const __m512i* x) {
    const __m512i i0 = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), i1 = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    __m512i quarter[4];
    for (int i = 0; i < 4; ++i)
      quarter[i] = _mm512_max_epu16(_mm512_permutex2var_epi64(x[2 * i], i0, x[2 * i + 1]),
                                    _mm512_permutex2var_epi64(x[2 * i], i1, x[2 * i + 1]));
    __m512i eighth[2];
    for (int i = 0; i < 2; ++i)
      eighth[i] = _mm512_max_epu16(_mm512_unpacklo_epi64(quarter[2 * i], quarter[2 * i + 1]),
                                   _mm512_unpackhi_epi64(quarter[2 * i], quarter[2 * i + 1]));
    const __m512 a = _mm512_castsi512_ps(eighth[0]), b = _mm512_castsi512_ps(eighth[1]);
    __m512i word = _mm512_max_epu16(_mm512_castps_si512(_mm512_shuffle_ps(a, b, 0x88)),
                                    _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0xdd)));
    word = _mm512_max_epu32(_mm512_and_si512(word, _mm512_set1_epi32(0xffff)), _mm512_srli_epi32(word, 16));
    const __m512i order = _mm512_setr_epi32(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15);
    return u(_mm512_permutexvar_epi32(order, word));
  }
  static __m512i magnitudes(const std::uint8_t* x) {
    return _mm512_and_si512(_mm512_loadu_si512(x), _mm512_set1_epi16(0x7fff));
  }
  static U maxima_of_16(const std::uint8_t* x) {
    __m512i v[8];
    for (int i = 0; i < 8; ++i) v[i] = magnitudes(x + 64 * i);
    return maxima_of_pairs(v);
  }
  static U maxima_of_32(const std::uint8_t* x) {
    __m512i v[8];
    for (int i = 0; i < 8; ++i) {
      const __m512i a = magnitudes(x + 128 * i), b = magnitudes(x + 128 * i + 64);
      v[i] = _mm512_max_epu16(_mm512_shuffle_i64x2(a, b, 0x44), _mm512_shuffle_i64x2(a, b, 0xee));
    }
    return maxima_of_pairs(v);
  }

  template <int kBlock>
  static F spread(const float* values, std::int64_t at) {
    if constexpr (kBlock == 16) {
      const __m512 first = _mm512_set1_ps(values[at / 16]);
      return g(_mm512_mask_broadcastss_ps(first, 0xff00, _mm_load_ss(values + at / 16 + 1)));
    } else {
      return all<F>(values[kBlock == 0 ? 0 : at / 32]);
    }
  }
  template <int kShift, bool kZeroOff>
  static U sign_words(U x) {
    if constexpr (kZeroOff)
      return u(_mm512_maskz_srli_epi16(_mm512_test_epi16_mask(m(x), _mm512_set1_epi16(0x7fff)), m(x), kShift));
    else
      return u(_mm512_srli_epi16(m(x), kShift));
  }
  static U pack_nibbles(U a, U b, U c, U d) {
    const __m512i by = _mm512_set1_epi32(0x00100001);  // low half once, high half 16 times
    const __m512i ab = _mm512_packus_epi32(_mm512_madd_epi16(m(a), by), _mm512_madd_epi16(m(b), by));
    const __m512i cd = _mm512_packus_epi32(_mm512_madd_epi16(m(c), by), _mm512_madd_epi16(m(d), by));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return u(_mm512_permutexvar_epi32(order, _mm512_packus_epi16(ab, cd)));
  }
  static U pack_bytes(U a, U b) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    return u(_mm512_permutexvar_epi64(order, _mm512_packus_epi16(m(a), m(b))));
  }

  static F repeat_quad(float a, float b, float c, float d) {
    return g(_mm512_broadcast_f32x4(_mm_setr_ps(a, b, c, d)));
  }
  static U minus_bytes(bool with_zero) {
    const short first = with_zero ? 0x80 : 0;
    return u(_mm512_broadcast_i32x4(_mm_setr_epi16(first, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80)));
  }
  template <int kBlock>
  static F spread_quads(const float* values) {
    if constexpr (kBlock == 16) {
      const __m512 four = _mm512_broadcast_f32x4(_mm_loadu_ps(values));
      return g(_mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3), four));
    } else {
      return g(_mm512_mask_broadcastss_ps(_mm512_set1_ps(values[0]), 0xff00, _mm_load_ss(values + 1)));
    }
  }
  static U pack_words(U a, U b) { return u(_mm512_packus_epi32(m(a), m(b))); }
  static U pack_halves(U a, U b) { return u(_mm512_packus_epi16(m(a), m(b))); }
  static U join_words(U a, U b) {
    return u(_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_packus_epi32(m(a), m(b))));
  }
  static U bytes_to_halves(const std::uint8_t* x) {
    return u(_mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))));
  }
  static U look_up(U table, U index) { return u(_mm512_shuffle_epi8(m(table), m(index))); }
  static U nibbles_to_bytes(const std::uint8_t* packed) {
    const U bytes = bytes_to_halves(packed);
    return (bytes | (bytes << 4)) & 0x0f0f0f0fu;
  }
  static void join_bytes(U low, U high, U& first, U& second) {
    const __m512i a = _mm512_unpacklo_epi8(m(low), m(high)), b = _mm512_unpackhi_epi8(m(low), m(high));
    first = u(_mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), b));
    second = u(_mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), b));
  }

  static bool magnitudes_up_to(const std::uint8_t* codes, std::uint8_t largest) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
    const __m256i a = _mm256_and_si256(v, _mm256_set1_epi8(0x7f));
    return _mm256_cmpgt_epi8_mask(a, _mm256_set1_epi8(static_cast<char>(largest))) == 0;
  }

  static void stream(void* to, U x) { _mm512_stream_si512(static_cast<__m512i*>(to), m(x)); }
  static void fence() { _mm_sfence(); }
};

}  // namespace
}  // namespace tessera::cpu

const tessera_lanes::Kernels tessera_lanes::kAvx512 = tessera::cpu::kernels_of<tessera::cpu::Avx512>();
