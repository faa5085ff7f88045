#include "tessera/kernels/reference/gemm.h"

#include <algorithm>
#include <vector>

#include "tessera/kernels/reference/flushed.h"
#include "tessera/numeric/lanes.h"

namespace tessera::reference {
namespace {

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
      float total = 0;
      for (std::int64_t begin = 0; begin < padded; begin += w.chain) {
        float a = 0;
        for (std::int64_t at = begin; at < begin + w.chain; at += 2) {
          a = fused(code(at + 1), x(at + 1), a);
          a = fused(code(at), x(at), a);
        }
        total = fused(a, scales[static_cast<std::size_t>(begin / w.chain)], total);
      }
      if (w.row_factor.count() > 0) total = product(total, w.row_factor.as<float>()[n]);
      if (tile.bias != nullptr) total = sum(total, tile.bias[n]);
      store(tile.y_type, tile.y, m * tile.y_stride + n, is_nan(total) ? kNaN : total);
    }
  }
}

}  // namespace tessera::reference
