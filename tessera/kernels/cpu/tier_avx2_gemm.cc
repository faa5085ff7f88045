// Matrix multiplication on AVX2: f32 fused multiply-adds, a panel in two vectors.
//
// A namespace of its own, with the other units of the tier (lane_kernels.h).
#define tessera tessera_avx2
#include <immintrin.h>

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

#include "tessera/kernels/cpu/gemm_floats.h"

namespace tessera::cpu {
namespace {

struct ByteValues {
  float of[256];
};
constexpr ByteValues byte_values(Element element) {
  ByteValues t{};
  for (std::uint32_t i = 0; i < 256; ++i) t.of[i] = decode(element, i);
  return t;
}
constexpr ByteValues kE4M3Values = byte_values(kE4M3), kE5M2Values = byte_values(kE5M2);

struct Avx2Gemm {
  using F = AvxFloats;
  using U = AvxWords;
  using W = F;
  using X = float;
  static constexpr int kLanes = 8, kUnits = kGranule, kStrip = 1, kBlock = 6;

  static __m256i m(U x) { return std::bit_cast<__m256i>(x); }
  static U u(__m256i x) { return std::bit_cast<U>(x); }
  static __m256 f(F x) { return std::bit_cast<__m256>(x); }
  static F g(__m256 x) { return std::bit_cast<F>(x); }
  static F fused(F a, F b, F c) { return g(_mm256_fmadd_ps(f(a), f(b), f(c))); }
  static F add(F sum, W w, X x) { return fused(w, g(_mm256_set1_ps(x)), sum); }
  static void read_x(const GemmFacts& facts, std::int64_t row, X* out) { read_floats_in_pairs<F>(facts, row, out); }
  static void to_bf16(F x, std::uint16_t* out) {
    const __m256i packed = _mm256_packus_epi32(m(word_of(x) >> 16), _mm256_setzero_si256());
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0xd8)));
  }

  static U words_of_bytes(const std::uint8_t* at) {
    return u(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))));
  }
  static void read_scales(Scales kind, const std::uint8_t* at, std::int64_t chains, float* out) {
    if (kind == Scales::kF32) {
      __builtin_memcpy(out, at, static_cast<std::size_t>(chains * kPanelRows) * sizeof(float));
      return;
    }
    for (std::int64_t i = 0; i < chains * kPanelRows; i += kLanes) {
      F scale = all<F>(1.f);
      if (kind == Scales::kE4M3) scale = decode_magnitude<F>(kE4M3, words_of_bytes(at + i));
      if (kind == Scales::kUE5M3) scale = decode_magnitude<F>(kUE5M3, words_of_bytes(at + i));
      if (kind == Scales::kE8M0) scale = decode_e8m0<F>(words_of_bytes(at + i));
      store(out + i, scale);
    }
  }

  static F value_of_byte(const ByteValues& values, U byte) { return g(_mm256_i32gather_ps(values.of, m(byte), 4)); }

  template <Codes kCodes, class See>
  __attribute__((always_inline)) static void visit(const std::uint8_t* codes, int vector, const See& see) {
    const std::uint8_t* own = codes + vector * 32;
    if constexpr (kCodes == Codes::kF32) {
      see_pairs<8>(
          see, [&](int p) { return load<F>(own + p * 128 + 64); }, [&](int p) { return load<F>(own + p * 128); });
    } else if constexpr (kCodes == Codes::kBf16) {
      see_pairs<8>(
          see, [&](int p) { return float_of<F>(load<U>(own + p * 64) & 0xffff0000u); },
          [&](int p) { return float_of<F>(load<U>(own + p * 64) << 16); });
    } else if constexpr (kCodes == Codes::kE2M1) {
      const F table{0, .5f, 1, 1.5f, 2, 3, 4, 6};
      const auto value = [&](int p, int odd) __attribute__((always_inline)) {
        const U word = load<U>(own + p / 4 * 64);
        const int shift = 16 * odd + p % 4 * 4;
        const U magnitude = word_of(g(_mm256_permutevar8x32_ps(f(table), m(word >> shift))));
        return float_of<F>(magnitude | ((word << (28 - shift)) & 0x80000000u));
      };
      see_pairs<8>(
          see, [&](int p) __attribute__((always_inline)) { return value(p, 1); },
          [&](int p) __attribute__((always_inline)) { return value(p, 0); });
    } else {
      const ByteValues& values = kCodes == Codes::kE4M3 ? kE4M3Values : kE5M2Values;
      const auto pair = [&](int p) __attribute__((always_inline)) {
        const __m256i raw = m(load<U>(own + p / 2 * 64)), zero = _mm256_setzero_si256();
        return u(p % 2 == 0 ? _mm256_unpacklo_epi8(raw, zero) : _mm256_unpackhi_epi8(raw, zero));
      };
      see_pairs<8>(
          see, [&](int p) __attribute__((always_inline)) { return value_of_byte(values, pair(p) >> 16); },
          [&](int p) __attribute__((always_inline)) { return value_of_byte(values, pair(p) & 0xffffu); });
    }
  }
};

}  // namespace
}  // namespace tessera::cpu

const tessera_lanes::GemmKernels tessera_lanes::kGemmAvx2 = tessera::cpu::gemm_kernels_of<tessera::cpu::Avx2Gemm>();
