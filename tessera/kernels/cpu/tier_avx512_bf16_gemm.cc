// Matrix multiplication on AVX-512 with dot products of bf16: a unit is a pair of k, and the instruction has the order
// of gemm.h.
//
// A namespace of its own (lane_kernels.h).
#define tessera tessera_avx512_bf16
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

namespace tessera::cpu {
namespace {

// bf16 of a code of E2M1, twice: the look-up takes 5 bits of an index.
struct NibbleTable {
  alignas(64) std::uint16_t bits[32];
};
constexpr NibbleTable kNibbles = [] {
  NibbleTable t{};
  for (std::uint32_t i = 0; i < 32; ++i)
    t.bits[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(decode(kE2M1, i & 15)) >> 16);
  return t;
}();

struct Avx512Bf16Gemm : Avx512Base {
  using W = U;
  using X = std::uint32_t;
  static constexpr int kUnits = kGranule / 2;

  static F add(F sum, W w, X x) {
    return g(_mm512_dpbf16_ps(f(sum), std::bit_cast<__m512bh>(w), std::bit_cast<__m512bh>(U{} + x)));
  }
  static void read_x(const GemmFacts& facts, std::int64_t row, X* out) {
    const std::int64_t bytes = facts.k * 2, padded = facts.steps * facts.step * 2;
    auto* to = reinterpret_cast<std::uint8_t*>(out);
    __builtin_memcpy(to, static_cast<const std::uint8_t*>(facts.x) + row * bytes, static_cast<std::size_t>(bytes));
    __builtin_memset(to + bytes, 0, static_cast<std::size_t>(padded - bytes));
  }

  template <Codes kCodes, class See>
  __attribute__((always_inline)) static void visit(const std::uint8_t* codes, int, const See& see) {
    if constexpr (kCodes == Codes::kE2M1) {
      const __m512i table = _mm512_load_si512(kNibbles.bits);
      const __m512i raw[] = {_mm512_loadu_si512(codes), _mm512_loadu_si512(codes + 64)};
      unrolled<8>([&](auto p) __attribute__((always_inline)) {
        see(p, u(_mm512_permutexvar_epi16(_mm512_srli_epi16(raw[p / 4], p % 4 * 4), table)));
      });
    } else {
      visit_pairs<kCodes>(codes, see);
    }
  }
};

}  // namespace
}  // namespace tessera::cpu

const tessera_lanes::GemmKernels tessera_lanes::kGemmAvx512Bf16 =
    tessera::cpu::gemm_kernels_of<tessera::cpu::Avx512Bf16Gemm>();
