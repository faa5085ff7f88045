// AVX2, FMA and F16C: 8 lanes.
//
// A namespace of its own: this unit is compiled for processors that others need not have (lane_kernels.h).
#define tessera tessera_avx2
#include <immintrin.h>

#include "tessera/kernels/cpu/lane_kernels.h"
#include "tessera/numeric/lanes.h"

namespace tessera {
typedef float AvxFloats __attribute__((vector_size(32)));
typedef std::uint32_t AvxWords __attribute__((vector_size(32)));
typedef std::int32_t AvxInts __attribute__((vector_size(32)));
template <>
struct LaneTraits<AvxFloats> {
  using Word = AvxWords;
  using Int = AvxInts;
  static constexpr int kCount = 8;
};
}  // namespace tessera

#include "tessera/kernels/cpu/quantize_lanes.h"

namespace tessera::cpu {
namespace {

struct Avx2 {
  using F = AvxFloats;
  using U = AvxWords;
  using I = AvxInts;
  typedef std::uint16_t HalfH __attribute__((vector_size(16)));
  typedef std::uint8_t ByteLanes __attribute__((vector_size(8)));
  static constexpr int kLanes = 8;
  struct Wide {
    U low, high;
  };

  static __m256i m(U x) { return std::bit_cast<__m256i>(x); }
  static U u(__m256i x) { return std::bit_cast<U>(x); }
  static __m256 f(F x) { return std::bit_cast<__m256>(x); }
  static F g(__m256 x) { return std::bit_cast<F>(x); }

  // Widening with zeros; and what is in the low bits.
  static __m128i half(ByteLanes x) { return _mm_cvtsi64_si128(std::bit_cast<long long>(x)); }
  static U words_of_bytes(ByteLanes x) { return u(_mm256_cvtepu8_epi32(half(x))); }
  static U words_of_halves(HalfH x) { return u(_mm256_cvtepu16_epi32(std::bit_cast<__m128i>(x))); }
  static HalfH halves_of_bytes(ByteLanes x) { return std::bit_cast<HalfH>(_mm_cvtepu8_epi16(half(x))); }
  static HalfH halves_of_words(U x) {
    const __m256i low = _mm256_and_si256(m(x), _mm256_set1_epi32(0xffff));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0xd8);
    return std::bit_cast<HalfH>(_mm256_castsi256_si128(packed));
  }
  static ByteLanes bytes_of_halves(HalfH x) {
    const __m128i low = _mm_and_si128(std::bit_cast<__m128i>(x), _mm_set1_epi16(0xff));
    return std::bit_cast<ByteLanes>(_mm_cvtsi128_si64(_mm_packus_epi16(low, low)));
  }
  static ByteLanes bytes_of_words(U x) { return bytes_of_halves(halves_of_words(x)); }
  static F from_f16(HalfH x) { return g(_mm256_cvtph_ps(std::bit_cast<__m128i>(x))); }
  static HalfH to_f16(F x) { return std::bit_cast<HalfH>(_mm256_cvtps_ph(f(x), _MM_FROUND_TO_NEAREST_INT)); }
  // 2 * kLanes patterns of f16 in the words' halves, in order.
  static void widen_f16(U x, F& low, F& high) {
    low = g(_mm256_cvtph_ps(_mm256_castsi256_si128(m(x))));
    high = g(_mm256_cvtph_ps(_mm256_extracti128_si256(m(x), 1)));
  }
  // Lanes 0, 2, 4 ... of the two vectors one after the other; and 1, 3, 5 ...
  static F evens(F low, F high) { return g(in_order(_mm256_shuffle_ps(f(low), f(high), 0x88))); }
  static F odds(F low, F high) { return g(in_order(_mm256_shuffle_ps(f(low), f(high), 0xdd))); }
  static __m256 in_order(__m256 x) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8)); }
  static F fused(F a, F b, F c) { return g(_mm256_fmadd_ps(f(a), f(b), f(c))); }         // a * b + c, rounded once
  static F fused_minus(F a, F b, F c) { return g(_mm256_fnmadd_ps(f(a), f(b), f(c))); }  // c - a * b, rounded once
  static F larger(F a, F b) { return g(_mm256_max_ps(f(a), f(b))); }
  // The table's entries at the low bits of each index; and of a table of two vectors, where there is an instruction.
  static F choose(F table, U index) { return g(_mm256_permutevar8x32_ps(f(table), m(index))); }
  static constexpr bool kChoosesOfTwo = false;
  static U max_words(U a, U b) { return u(_mm256_max_epu32(m(a), m(b))); }
  static U max_halves(U a, U b) { return u(_mm256_max_epu16(m(a), m(b))); }
  static std::uint32_t largest_word(U a) {
    __m128i x = _mm_max_epu32(_mm256_castsi256_si128(m(a)), _mm256_extracti128_si256(m(a), 1));
    x = _mm_max_epu32(x, _mm_shuffle_epi32(x, 0x4e));
    x = _mm_max_epu32(x, _mm_shuffle_epi32(x, 0xb1));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(x));
  }
  static bool all_lanes(I mask) { return _mm256_movemask_epi8(std::bit_cast<__m256i>(mask)) == -1; }
  static I lanes_from(int n) { return I{0, 1, 2, 3, 4, 5, 6, 7} >= n; }
  // Both halves of the products of 32 bits.
  static Wide multiply_wide(U a, std::uint32_t b) {
    const __m256i by = _mm256_set1_epi32(static_cast<int>(b));
    const __m256i even = _mm256_mul_epu32(m(a), by), odd = _mm256_mul_epu32(_mm256_srli_epi64(m(a), 32), by);
    const __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    const __m256i low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    return {u(low), u(high)};
  }

  // The largest patterns of 16 bits, without signs, of kLanes blocks of 16 (of 32) one after the other, a word each.
  static std::uint32_t largest_half(__m128i a, __m128i b) {
    const __m128i most = _mm_max_epu16(a, b);  // there is an instruction for the smallest
    return 0xffffu ^ (0xffffu & static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(~most))));
  }
  static __m256i magnitudes(const std::uint8_t* x) {
    return _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)), _mm256_set1_epi16(0x7fff));
  }
  static U maxima_of_16(const std::uint8_t* x) {
    alignas(32) std::uint32_t most[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const __m256i v = magnitudes(x + 32 * i);
      most[i] = largest_half(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    }
    return load<U>(most);
  }
  static U maxima_of_32(const std::uint8_t* x) {
    alignas(32) std::uint32_t most[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const __m256i v = _mm256_max_epu16(magnitudes(x + 64 * i), magnitudes(x + 64 * i + 32));
      most[i] = largest_half(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    }
    return load<U>(most);
  }

  // For 2 * kLanes elements from `at` on, split in even and odd ones: the value of each lane's block. kBlock 0: the
  // first.
  template <int kBlock>
  static F spread(const float* values, std::int64_t at) {
    return all<F>(values[kBlock == 0 ? 0 : at / kBlock]);
  }
  // Words of 16 bits shifted right, so that the sign arrives at a code's top bit; kZeroOff: 0 where the magnitude is.
  template <int kShift, bool kZeroOff>
  static U sign_words(U x) {
    const __m256i shifted = _mm256_srli_epi16(m(x), kShift);
    if constexpr (!kZeroOff) return u(shifted);
    const __m256i zero = _mm256_cmpeq_epi16(_mm256_slli_epi16(m(x), 1), _mm256_setzero_si256());
    return u(_mm256_andnot_si256(zero, shifted));
  }
  // Words of 16 bits, each a code of 4 bits, in order; packed two a byte.
  static U pack_nibbles(U a, U b, U c, U d) {
    const __m256i by = _mm256_set1_epi32(0x00100001);  // low half once, high half 16 times
    const __m256i ab = _mm256_packus_epi32(_mm256_madd_epi16(m(a), by), _mm256_madd_epi16(m(b), by));
    const __m256i cd = _mm256_packus_epi32(_mm256_madd_epi16(m(c), by), _mm256_madd_epi16(m(d), by));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return u(_mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order));
  }
  // Words of 16 bits, each a code of 8 bits, in order; packed.
  static U pack_bytes(U a, U b) { return u(_mm256_permute4x64_epi64(_mm256_packus_epi16(m(a), m(b)), 0xd8)); }

  // Four values in every part of 128 bits.
  static F repeat_quad(float a, float b, float c, float d) { return F{a, b, c, d, a, b, c, d}; }
  // 0x0080 in every word of 16 bits; without zero: 0 in the first of every part of 128 bits.
  static U minus_bytes(bool with_zero) {
    const short first = with_zero ? 0x80 : 0;
    return u(_mm256_broadcastsi128_si256(_mm_setr_epi16(first, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80)));
  }
  // The value of the block of each part of 128 bits, where a part stands for 16 elements.
  template <int kBlock>
  static F spread_quads(const float* values) {
    if constexpr (kBlock == 32) return all<F>(values[0]);
    return g(_mm256_set_m128(_mm_set1_ps(values[1]), _mm_set1_ps(values[0])));
  }
  // Within parts of 128 bits: words to 16 bits, 16 bits to bytes (a's, then b's), and bytes looked up in 16.
  static U pack_words(U a, U b) { return u(_mm256_packus_epi32(m(a), m(b))); }
  static U pack_halves(U a, U b) { return u(_mm256_packus_epi16(m(a), m(b))); }
  static U look_up(U table, U index) { return u(_mm256_shuffle_epi8(m(table), m(index))); }
  // Words to 16 bits, a's and then b's, in order. And 2 * kLanes bytes, each in 16 bits.
  static U join_words(U a, U b) { return u(_mm256_permute4x64_epi64(_mm256_packus_epi32(m(a), m(b)), 0xd8)); }
  static U bytes_to_halves(const std::uint8_t* x) {
    return u(_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
  }
  // 4 * kLanes codes of 4 bits, a byte each.
  static U nibbles_to_bytes(const std::uint8_t* packed) {
    const U bytes = bytes_to_halves(packed);
    return (bytes | (bytes << 4)) & 0x0f0f0f0fu;
  }
  // Words of 16 bits from their low and high bytes, in order.
  static void join_bytes(U low, U high, U& first, U& second) {
    const __m256i a = _mm256_unpacklo_epi8(m(low), m(high)), b = _mm256_unpackhi_epi8(m(low), m(high));
    first = u(_mm256_permute2x128_si256(a, b, 0x20));
    second = u(_mm256_permute2x128_si256(a, b, 0x31));
  }

  // Whether 32 codes of 8 bits are at most `largest` without their signs.
  static bool magnitudes_up_to(const std::uint8_t* codes, std::uint8_t largest) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
    const __m256i a = _mm256_and_si256(v, _mm256_set1_epi8(0x7f));
    return _mm256_movemask_epi8(_mm256_cmpgt_epi8(a, _mm256_set1_epi8(static_cast<char>(largest)))) == 0;
  }

  // A line past the caches; `to` is aligned to its size. And what orders such lines before what follows.
  static void stream(void* to, U x) { _mm256_stream_si256(static_cast<__m256i*>(to), m(x)); }
  static void fence() { _mm_sfence(); }
};

}  // namespace
}  // namespace tessera::cpu

const tessera_lanes::Kernels tessera_lanes::kAvx2 = tessera::cpu::kernels_of<tessera::cpu::Avx2>();
