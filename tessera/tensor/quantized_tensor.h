// QuantizedTensor: a matrix of small floats with their scales, exactly as stored. A plain value.
//
// `visit` is the entire contract with the rest of the house: saving, gathering, sharding, offloading, counting, hashing
// and exporting are visitors of the buffers, and none of them knows a format. Law (3): dequantize() gives the
// exporter's own values bit for bit, in f32, in the order that `sense` says.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/numeric/format.h"
#include "tessera/numeric/philox.h"
#include "tessera/numeric/writer.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

struct QuantizedTensor {
  Format format{};
  Extent extent{};  // logical [rows, cols]; the last axis is the one its GEMM contracts
  Tensor codes{};   // U8 [rows, row_bytes()]; 4-bit codes two a byte, low nibble first
  Tensor scales{};  // [scale_extent()], row-major: U8 codes of format.scale, or F32. Chip-specific tilings are not kept
                    // at rest
  Tensor global{};  // F32 [segments]: the stored bits, one for each segment of rows; [0] where the format has none
  Sense sense = Sense::kMultiply;
  std::vector<std::int64_t> segment_ends{};  // row after each segment; empty: one segment, the whole
  DType stored_scale = DType::kF32;          // how block scales that are f32 in memory stand on disk: F32, BF16 or F16
  bool reads_minus_zero = true;              // false: code 8 of E2M1 reads as +0 (a fact of the dialect: ModelOpt)

  template <class V>
  void visit(V&& v) {
    v("codes", codes);
    v("scales", scales);
    v("global", global);
  }
  template <class V>
  void visit(V&& v) const {
    v("codes", codes);
    v("scales", scales);
    v("global", global);
  }
  std::size_t bytes() const { return codes.bytes() + scales.bytes() + global.bytes(); }
};

// An uninitialized tensor of this format with one segment. Throws kResource.
QuantizedTensor empty_quantized(const Format& format, Extent extent, Device device = kCpu);
// Rows [begin, end), sharing bytes. Throws kShape unless both ends are granules (or the last row).
QuantizedTensor slice_rows(const QuantizedTensor& q, std::int64_t begin, std::int64_t end);
QuantizedTensor copy(Stream& stream, const QuantizedTensor& q, Device to);
// Throws kShape or kInvalid naming the part that does not fit the format and the extent.
void validate(const QuantizedTensor& q);

struct OperandSpec {
  Format format{};
  const Writer* writer = nullptr;  // null: `nearest`
};

// Maxima of magnitudes, agreed with the other pieces of a whole. They order like the bit patterns of |x|, so a NaN
// survives.
struct Maxima {
  float tensor = 0;
  // One for each block that the piece touches, row-major over its grid; empty: the piece is cut in granules.
  std::vector<float> blocks{};
};

// Where a piece stands in the whole. Empty: x is the whole.
struct QuantizeContext {
  Extent whole{};
  std::int64_t row = 0, col = 0;  // of the piece's first element
  std::optional<Maxima>
      maxima{};  // agreed; required of a piece where the format has a global or a block larger than it
  RandomKey key{};
};

}  // namespace tessera
