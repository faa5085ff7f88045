#include "tessera/kernels/reference/row_program.h"

#include "tessera/kernels/cpu/row_lanes.h"

namespace tessera::reference {
namespace {

// One lane.
struct Single {
  using F = float;
  using U = std::uint32_t;
  using HalfH = std::uint16_t;
  static constexpr int kLanes = 1;
  static U words_of_halves(HalfH x) { return x; }
  static HalfH halves_of_words(U x) { return static_cast<HalfH>(x); }
  static F from_f16(HalfH x) { return decode(kE5M10, x); }
  static HalfH to_f16(F x) { return bits16(DType::kF16, x); }
};

}  // namespace

void run_row(const tessera_lanes::RowStep* steps, std::int64_t count, const tessera_lanes::RowBuffer* buffers,
             std::int64_t row, float* frame) {
  cpu::run_row<Single>(steps, count, buffers, row, frame);
}

}  // namespace tessera::reference
