#include "tessera/kernels/reference/gemm.h"

#include <cmath>
#include <vector>

#include "tessera/numeric/lanes.h"

namespace tessera::reference {
namespace {

float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.f, x) : x; }

// fma(a, b, c), or a * b where c is null, with subnormals as gemm.h has them. Whether a result that arrives at 2^-126
// was rounded up from under it shows when the same sum is made 2^100 times as large. Nothing overflows there: with 48
// bits in a product and 24 in c, neither can be above 2^-77 and leave no more than 2^-126.
float fused(float a, float b, const float* c) {
  const auto of = [&](float x, float y, float scale) { return c != nullptr ? std::fma(x, y, *c * scale) : x * y; };
  const float result = of(a, b, 1);
  if (std::fabs(result) != 0x1p-126f) return flushed(result);
  const float small = std::fabs(a) < std::fabs(b) ? a : b, large = std::fabs(a) < std::fabs(b) ? b : a;
  return std::fabs(of(small * 0x1p100f, large, 0x1p100f)) < 0x1p-26f ? std::copysign(0.f, result) : result;
}
float fused(float a, float b, float c) {
  const float addend = flushed(c);
  return fused(flushed(a), flushed(b), &addend);
}

float element(DType type, const void* data, std::int64_t index) {
  if (type == DType::kF32) return static_cast<const float*>(data)[index];
  return std::bit_cast<float>(std::uint32_t{static_cast<const std::uint16_t*>(data)[index]} << 16);
}

void store(DType type, void* data, std::int64_t index, float value) {
  if (type == DType::kF32)
    static_cast<float*>(data)[index] = value;
  else
    static_cast<std::uint16_t*>(data)[index] = bits16(type, round_to(type, value));
}

}  // namespace

void gemm(const GemmTile& tile) {
  const PackedMatrix& w = *tile.w;
  const std::int64_t k = w.extent.cols, end = std::min(tile.end_panel * PackedMatrix::kPanel, w.extent.rows);
  const std::int64_t padded = w.steps() * w.step;
  std::vector<float> codes(static_cast<std::size_t>(k)), scales(static_cast<std::size_t>(padded / w.chain));
  for (std::int64_t n = tile.first_panel * PackedMatrix::kPanel; n < end; ++n) {
    read_codes(w, n, codes);
    read_scales(w, n, scales);
    const auto code = [&](std::int64_t at) { return at < k ? codes[static_cast<std::size_t>(at)] : 0.f; };
    for (std::int64_t m = 0; m < tile.m; ++m) {
      const auto x = [&](std::int64_t at) { return at < k ? element(tile.x_type, tile.x, m * k + at) : 0.f; };
      float sum = 0;
      for (std::int64_t begin = 0; begin < padded; begin += w.chain) {
        float a = 0;
        for (std::int64_t at = begin; at < begin + w.chain; at += 2) {
          a = fused(code(at + 1), x(at + 1), a);
          a = fused(code(at), x(at), a);
        }
        sum = fused(a, scales[static_cast<std::size_t>(begin / w.chain)], sum);
      }
      if (w.row_factor.count() > 0) sum = fused(sum, flushed(w.row_factor.as<float>()[n]), nullptr);
      if (tile.bias != nullptr) sum = flushed(sum + flushed(tile.bias[n]));
      store(tile.y_type, tile.y, m * tile.y_stride + n, is_nan(sum) ? kNaN : sum);
    }
  }
}

}  // namespace tessera::reference
