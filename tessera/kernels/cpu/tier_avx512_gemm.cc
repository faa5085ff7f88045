// Matrix multiplication on AVX-512: f32 fused multiply-adds.
//
// A namespace of its own, with the other units of the tier (lane_kernels.h).
#define tessera tessera_avx512
#include <immintrin.h>

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

#include "tessera/kernels/cpu/gemm_avx512.h"
#include "tessera/kernels/cpu/gemm_floats.h"

namespace tessera::cpu {
namespace {

struct Avx512Gemm : Avx512Base {
  using W = F;
  using X = float;
  static constexpr int kUnits = kGranule;

  static F add(F sum, W w, X x) { return fused(w, g(_mm512_set1_ps(x)), sum); }
  static void read_x(const GemmFacts& facts, std::int64_t row, X* out) { read_floats_in_pairs<F>(facts, row, out); }

  template <Codes kCodes, class See>
  __attribute__((always_inline)) static void visit(const std::uint8_t* codes, int, const See& see) {
    if constexpr (kCodes == Codes::kF32) {
      see_pairs<8>(
          see, [&](int p) { return load<F>(codes + p * 128 + 64); }, [&](int p) { return load<F>(codes + p * 128); });
    } else if constexpr (kCodes == Codes::kE2M1) {
      const F table{0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.f, -.5f, -1, -1.5f, -2, -3, -4, -6};
      const U raw[] = {load<U>(codes), load<U>(codes + 64)};
      const auto value = [&](int p, int odd) __attribute__((always_inline)) {
        return g(_mm512_permutexvar_ps(m(raw[p / 4] >> (16 * odd + p % 4 * 4)), f(table)));
      };
      see_pairs<8>(
          see, [&](int p) __attribute__((always_inline)) { return value(p, 1); },
          [&](int p) __attribute__((always_inline)) { return value(p, 0); });
    } else {
      visit_pairs<kCodes>(codes, [&](auto p, U pair) __attribute__((always_inline)) {
        see(std::integral_constant<int, decltype(p)::value * 2>{}, float_of<F>(pair & 0xffff0000u));
        see(std::integral_constant<int, decltype(p)::value * 2 + 1>{}, float_of<F>(pair << 16));
      });
    }
  }
};

}  // namespace
}  // namespace tessera::cpu

const tessera_lanes::GemmKernels tessera_lanes::kGemmAvx512 = tessera::cpu::gemm_kernels_of<tessera::cpu::Avx512Gemm>();
