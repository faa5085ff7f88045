#include "tessera/weights/sample.h"

#include <algorithm>

namespace tessera {

void sample_rows(const Checkpoint& model, const Module& m, std::uint64_t most,
                 const std::function<void(const QuantizedTensor& rows)>& look) {
  constexpr std::int64_t kPlaces = 4, kTileRows = 128;
  const Reading& r = m.reading;
  if (most == 0 || !m.is_quantized() || !r.complaints.empty() || r.extent.count() == 0) return;
  const Extent grid = scale_extent(r.format, r.extent);
  const std::int64_t rows = r.extent.rows,
                     bytes = code_bytes(r.format, r.extent) + grid.count() * scale_bytes(r.format);
  if (static_cast<std::uint64_t>(bytes) <= most) return look(model.load_rows_unchecked(m, 0, rows));
  if (r.codes.order == GridOrder::kColumns) return;
  const std::int64_t block = r.format.block.rows == 0 ? 1 : block_in(r.format, r.extent).rows;
  const std::int64_t step = r.scales.order == GridOrder::kTiles ? round_up(kTileRows, block) : block;
  const std::int64_t wanted =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(most) / std::max<std::int64_t>(1, bytes / rows) / step);
  const std::int64_t steps = ceil_div(rows, step);
  if (wanted >= steps) return look(model.load_rows_unchecked(m, 0, rows));
  const std::int64_t places = std::min(kPlaces, wanted), each = wanted / places;
  for (std::int64_t i = 0; i < places; ++i) {
    const std::int64_t first = places == 1 ? 0 : (steps - each) * i / (places - 1);
    look(model.load_rows_unchecked(m, first * step, std::min(rows, (first + each) * step)));
  }
}

}  // namespace tessera
