// y = x w^T over packed panels (packed_matrix.h), in the order of summation that gemm.h states.
//
// Two ways through a matrix, with the same bits. Few rows: codes become factors in registers, are multiplied and
// forgotten, so that memory is read once and is what it takes. Many rows: the factors of a strip of panels and some k
// are written to a buffer that the caches hold, and all rows are multiplied by it.
//
// `A` is a tier's arithmetic. A chain advances by "units": one k where A multiplies f32, two where it multiplies pairs
// of bf16. It has
//   F, kLanes        a vector of f32
//   W                the factors of a unit for kLanes rows of w
//   X, kUnits        a unit of x, and how many of them 16 k are
//   visit<kCodes>(codes, vector, see)   calls see(unit, W) for 16 k, units in the order in which they are summed
//   fused(a, b, c), add(sum, w, x)      a * b + c; sum plus what the unit gives
//   read_scales(kind, at, chains, out)  16 floats a chain
//   read_x(facts, row, out)             a row of x in units, padded with zeros to whole steps
//   to_bf16(values, out)                kLanes values that are numbers of bf16, or NaN
//   kStrip, kBlock   panels of a strip and rows of x that the registers hold sums for
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/kernels/cpu/gemm_kernels.h"
#include "tessera/kernels/cpu/lane_types.h"

namespace tessera::cpu {

using tessera_lanes::Codes;
using tessera_lanes::GemmFacts;
using tessera_lanes::Scales;

inline constexpr int kPanelRows = 16;
inline constexpr int kGranule = 16;                    // k that a loop's body takes; every chain is made of them
inline constexpr int kStepChains = 4;                  // at most
inline constexpr std::int64_t kFewRows = 8;            // of x
inline constexpr std::int64_t kChunkRows = 240;        // of x whose units are held at once
inline constexpr std::int64_t kStripBytes = 32 << 10;  // of the factors that are held at once, or of one step
inline constexpr std::int64_t kAhead = 8 << 10;        // bytes from what is read to what is prefetched

constexpr std::int64_t granule_bytes(Codes codes) {
  return codes == Codes::kE2M1 ? 128 : codes == Codes::kBf16 ? 512 : codes == Codes::kF32 ? 1024 : 256;
}

template <int kCount, class Body>
__attribute__((always_inline)) inline void unrolled(const Body& body) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, i>{}), ...);
  }(std::make_integer_sequence<int, kCount>{});
}

template <class A>
inline constexpr int kVectors = kPanelRows / A::kLanes;  // of a panel

// Units of a row of x, and their distance from row to row: odd in lines of 64 bytes, so that rows spread over the sets
// of a cache.
template <class A>
std::int64_t units_of(const GemmFacts& g) {
  return g.steps * g.step * A::kUnits / kGranule;
}
template <class A>
std::int64_t x_stride(const GemmFacts& g) {
  const std::int64_t lines = (units_of<A>(g) + 15) / 16;
  return (lines | 1) * 16;
}

// Sums of a panel's 16 rows, for one row of x: factor, bias, rounding.
template <class A>
void finish(const GemmFacts& g, std::int64_t panel, std::int64_t row, const float* sums) {
  using F = typename A::F;
  const std::int64_t first = panel * kPanelRows, count = std::min<std::int64_t>(kPanelRows, g.n - first);
  alignas(64) float factor[kPanelRows] = {}, bias[kPanelRows] = {}, values[kPanelRows];
  alignas(64) std::uint16_t halves[kPanelRows];
  const auto at = [&](const float* list, float* padded) {
    if (count == kPanelRows) return list + first;
    std::memcpy(padded, list + first, static_cast<std::size_t>(count) * sizeof(float));
    return static_cast<const float*>(padded);
  };
  const float* factors = g.factor != nullptr ? at(g.factor, factor) : nullptr;
  const float* biases = g.bias != nullptr ? at(g.bias, bias) : nullptr;
  for (int v = 0; v < kPanelRows; v += A::kLanes) {
    F sum = load<F>(sums + v);
    if (factors != nullptr) sum = sum * load<F>(factors + v);
    if (biases != nullptr) sum = sum + load<F>(biases + v);
    sum = is_nan_lane(sum) ? all<F>(kNaN) : sum;
    if (g.y_is_f32)
      store(values + v, sum);
    else
      A::to_bf16(round_to<F>(DType::kBf16, sum), halves + v);
  }
  const std::int64_t size = g.y_is_f32 ? 4 : 2;
  auto* to = static_cast<std::uint8_t*>(g.y) + (row * g.y_stride + first) * size;
  const void* from = g.y_is_f32 ? static_cast<const void*>(values) : halves;
  if (count < kPanelRows)
    std::memcpy(to, from, static_cast<std::size_t>(count * size));
  else if (g.y_is_f32)
    std::memcpy(to, from, kPanelRows * 4);
  else
    std::memcpy(to, from, kPanelRows * 2);
}

inline void prefetch(const std::uint8_t* at, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(at + i, 0, 3);
}

// kRows rows of x, the last of them perhaps again and again, by one panel.
template <class A, Codes kCodes, int kRows>
void few_rows_by_panel(const GemmFacts& g, const typename A::X* x, std::int64_t panel) {
  using F = typename A::F;
  constexpr int kV = kVectors<A>;
  const std::int64_t stride = x_stride<A>(g);
  const typename A::X* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = x + std::min<std::int64_t>(r, g.m - 1) * stride;
  const std::uint8_t* step = g.panels + panel * g.panel_bytes;
  const std::int64_t chains = g.step / g.chain, granules = g.chain / kGranule;
  alignas(64) float scales[kStepChains * kPanelRows];
  if (g.scales == Scales::kNone) A::read_scales(g.scales, nullptr, chains, scales);
  F sums[kRows * kV] = {};
  std::int64_t unit = 0;
  for (std::int64_t s = 0; s < g.steps; ++s, step += g.step_bytes) {
    prefetch(step + kAhead, g.step_bytes);
    const std::uint8_t* codes = step;
    if (g.scales != Scales::kNone) A::read_scales(g.scales, step + g.code_bytes, chains, scales);
    for (std::int64_t c = 0; c < chains; ++c) {
      F chain[kRows * kV] = {};
      for (std::int64_t i = 0; i < granules; ++i, codes += granule_bytes(kCodes), unit += A::kUnits)
        unrolled<kV>([&](auto v) __attribute__((always_inline)) {
          A::template visit<kCodes>(codes, v, [&](auto u, typename A::W w) __attribute__((always_inline)) {
            unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
              chain[v * kRows + r] = A::add(chain[v * kRows + r], w, rows[r][unit + u]);
            });
          });
        });
      unrolled<kV>([&](auto v) __attribute__((always_inline)) {
        const F scale = load<F>(scales + c * kPanelRows + v * A::kLanes);
        unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
          sums[v * kRows + r] = A::fused(chain[v * kRows + r], scale, sums[v * kRows + r]);
        });
      });
    }
  }
  alignas(64) float out[kPanelRows];
  for (int r = 0; r < std::min<std::int64_t>(kRows, g.m); ++r) {
    for (int v = 0; v < kV; ++v) store(out + v * A::kLanes, sums[v * kRows + r]);
    finish<A>(g, panel, r, out);
  }
}

template <class A, Codes kCodes>
void few_rows(const GemmFacts& g, void* scratch) {
  auto* x = static_cast<typename A::X*>(scratch);
  for (std::int64_t r = 0; r < g.m; ++r) A::read_x(g, r, x + r * x_stride<A>(g));
  for (std::int64_t p = g.first_panel; p < g.end_panel; ++p) {
    if (g.m == 1)
      few_rows_by_panel<A, kCodes, 1>(g, x, p);
    else if (g.m == 2)
      few_rows_by_panel<A, kCodes, 2>(g, x, p);
    else if (g.m <= 4)
      few_rows_by_panel<A, kCodes, 4>(g, x, p);
    else if (g.m <= 6)
      few_rows_by_panel<A, kCodes, 6>(g, x, p);
    else
      few_rows_by_panel<A, kCodes, 8>(g, x, p);
  }
}

// Buffers of many_rows(), in one piece of memory: units of a chunk's rows, sums of those rows by a strip, factors and
// scales of a strip and `block_steps` steps, one row. Units are kept [block of steps][row], so that a block's are
// together.
template <class A>
struct Strip {
  static constexpr std::int64_t kCols = A::kStrip * kPanelRows;
  std::int64_t block_steps, blocks, block_units, chunk, x_bytes, sum_bytes, factor_bytes, scale_bytes;
  explicit Strip(const GemmFacts& g) {
    const std::int64_t step_units = g.step * A::kUnits / kGranule, unit_bytes = kCols * 4;
    block_steps = std::min(g.steps, std::max<std::int64_t>(1, kStripBytes / (step_units * unit_bytes)));
    blocks = block_steps > 0 ? (g.steps + block_steps - 1) / block_steps : 0;
    block_units = block_steps * step_units;
    chunk = std::min(g.m, kChunkRows);
    x_bytes = blocks * chunk * block_units * 4;
    sum_bytes = chunk * kCols * 4;
    factor_bytes = block_units * unit_bytes;
    scale_bytes = block_steps * (g.step / g.chain) * kCols * 4;
  }
  std::int64_t bytes() const { return x_bytes + sum_bytes + factor_bytes + scale_bytes + blocks * block_units * 4; }
};

// Factors of `steps` steps of `panels` panels: [unit][panel][16 rows]; scales: [chain][panel][16 rows].
template <class A, Codes kCodes>
void spread_strip(const GemmFacts& g, std::int64_t panel, std::int64_t panels, std::int64_t first_step,
                  std::int64_t steps, std::uint8_t* factors, float* scales) {
  constexpr std::int64_t kCols = Strip<A>::kCols;
  const std::int64_t chains = g.step / g.chain, granules = g.step / kGranule;
  for (std::int64_t p = 0; p < panels; ++p) {
    const std::uint8_t* step = g.panels + (panel + p) * g.panel_bytes + first_step * g.step_bytes;
    std::uint8_t* out = factors + p * kPanelRows * 4;
    for (std::int64_t s = 0; s < steps; ++s, step += g.step_bytes) {
      alignas(64) float own[kStepChains * kPanelRows];
      A::read_scales(g.scales, step + g.code_bytes, chains, own);
      for (std::int64_t c = 0; c < chains; ++c)
        std::memcpy(scales + ((s * chains + c) * A::kStrip + p) * kPanelRows, own + c * kPanelRows, kPanelRows * 4);
      for (std::int64_t i = 0; i < granules; ++i, out += A::kUnits * kCols * 4)
        unrolled<kVectors<A>>([&](auto v) __attribute__((always_inline)) {
          A::template visit<kCodes>(step + i * granule_bytes(kCodes), v,
                                    [&](auto u, typename A::W w) __attribute__((always_inline)) {
                                      store(out + u * kCols * 4 + v * A::kLanes * 4, w);
                                    });
        });
    }
  }
}

// kRows rows of x by the spread factors of `chains` chains. Sums pass from one block of steps to the next in memory,
// which is exact.
template <class A, int kRows>
void block_by_strip(const typename A::X* x, std::int64_t stride, std::int64_t chains, std::int64_t chain_units,
                    const std::uint8_t* factors, const float* scales, float* sums) {
  using F = typename A::F;
  constexpr int kV = A::kStrip * kVectors<A>;
  constexpr std::int64_t kCols = Strip<A>::kCols;
  for (std::int64_t c = 0; c < chains; ++c, scales += kCols) {
    F chain[kRows * kV] = {};
    for (std::int64_t u = 0; u < chain_units; ++u, ++x, factors += kCols * 4) {
      typename A::W w[kV];
      unrolled<kV>([&](auto v)
                       __attribute__((always_inline)) { w[v] = load<typename A::W>(factors + v * A::kLanes * 4); });
      unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
        const typename A::X value = x[r * stride];
        unrolled<kV>(
            [&](auto v) __attribute__((always_inline)) { chain[r * kV + v] = A::add(chain[r * kV + v], w[v], value); });
      });
    }
    unrolled<kV>([&](auto v) __attribute__((always_inline)) {
      const F scale = load<F>(scales + v * A::kLanes);
      unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
        float* at = sums + r * kCols + v * A::kLanes;
        store(at, A::fused(chain[r * kV + v], scale, load<F>(at)));
      });
    });
  }
}

template <class A, int kRows = A::kBlock>
void rows_by_strip(std::int64_t rows, const typename A::X* x, std::int64_t stride, std::int64_t chains,
                   std::int64_t chain_units, const std::uint8_t* factors, const float* scales, float* sums) {
  for (; rows >= kRows; rows -= kRows, x += kRows * stride, sums += kRows * Strip<A>::kCols)
    block_by_strip<A, kRows>(x, stride, chains, chain_units, factors, scales, sums);
  if constexpr (kRows > 1)
    if (rows > 0) rows_by_strip<A, kRows - 1>(rows, x, stride, chains, chain_units, factors, scales, sums);
}

template <class A>
void read_chunk(const GemmFacts& g, const Strip<A>& strip, std::int64_t row, std::int64_t rows, typename A::X* x,
                typename A::X* whole) {
  const std::int64_t units = units_of<A>(g);
  for (std::int64_t r = 0; r < rows; ++r) {
    A::read_x(g, row + r, whole);
    for (std::int64_t b = 0; b < strip.blocks; ++b) {
      const std::int64_t first = b * strip.block_units, count = std::min(strip.block_units, units - first);
      std::memcpy(x + (b * strip.chunk + r) * strip.block_units, whole + first, static_cast<std::size_t>(count * 4));
    }
  }
}

template <class A, Codes kCodes>
void many_rows(const GemmFacts& g, void* scratch) {
  const Strip<A> strip(g);
  constexpr std::int64_t kCols = Strip<A>::kCols;
  auto* bytes = static_cast<std::uint8_t*>(scratch);
  auto* x = reinterpret_cast<typename A::X*>(bytes);
  auto* sums = reinterpret_cast<float*>(bytes + strip.x_bytes);
  std::uint8_t* factors = bytes + strip.x_bytes + strip.sum_bytes;
  auto* scales = reinterpret_cast<float*>(factors + strip.factor_bytes);
  auto* whole = reinterpret_cast<typename A::X*>(factors + strip.factor_bytes + strip.scale_bytes);
  for (std::int64_t row = 0; row < g.m; row += strip.chunk) {
    const std::int64_t rows = std::min(strip.chunk, g.m - row);
    read_chunk<A>(g, strip, row, rows, x, whole);
    for (std::int64_t p = g.first_panel; p < g.end_panel; p += A::kStrip) {
      const std::int64_t panels = std::min<std::int64_t>(A::kStrip, g.end_panel - p);
      std::memset(sums, 0, static_cast<std::size_t>(rows * kCols * 4));
      for (std::int64_t b = 0; b < strip.blocks; ++b) {
        const std::int64_t first = b * strip.block_steps, steps = std::min(strip.block_steps, g.steps - first);
        spread_strip<A, kCodes>(g, p, panels, first, steps, factors, scales);
        rows_by_strip<A>(rows, x + b * strip.chunk * strip.block_units, strip.block_units, steps * (g.step / g.chain),
                         g.chain * A::kUnits / kGranule, factors, scales, sums);
      }
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t i = 0; i < panels; ++i) finish<A>(g, p + i, row + r, sums + r * kCols + i * kPanelRows);
    }
  }
}

template <class A>
std::int64_t gemm_scratch(const GemmFacts& g) {
  if (g.m <= kFewRows) return g.m * x_stride<A>(g) * 4;
  return Strip<A>(g).bytes();
}

template <class A, Codes kCodes>
void multiply(const GemmFacts& g, void* scratch) {
  if (g.m <= kFewRows)
    few_rows<A, kCodes>(g, scratch);
  else
    many_rows<A, kCodes>(g, scratch);
}

// Subnormal operands and results are zeros, rounding is to nearest and nothing traps, whatever the caller has set.
template <class A>
void gemm_panels(const GemmFacts& g, void* scratch) {
  constexpr unsigned kFlushing = 0x9fc0;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(kFlushing);
  switch (g.codes) {
    case Codes::kE2M1:
      multiply<A, Codes::kE2M1>(g, scratch);
      break;
    case Codes::kE4M3:
      multiply<A, Codes::kE4M3>(g, scratch);
      break;
    case Codes::kE5M2:
      multiply<A, Codes::kE5M2>(g, scratch);
      break;
    case Codes::kBf16:
      multiply<A, Codes::kBf16>(g, scratch);
      break;
    case Codes::kF32:
      if constexpr (A::kUnits == kGranule) multiply<A, Codes::kF32>(g, scratch);
  }
  _mm_setcsr(before);
}

template <class A>
constexpr tessera_lanes::GemmKernels gemm_kernels_of() {
  return {&gemm_scratch<A>, &gemm_panels<A>};
}

}  // namespace tessera::cpu
