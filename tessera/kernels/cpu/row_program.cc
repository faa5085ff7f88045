#include "tessera/kernels/cpu/row_program.h"

#include "tessera/kernels/cpu/lane_kernels.h"

namespace tessera::cpu {

void run_row_avx2(const tessera_lanes::RowStep* steps, std::int64_t count, const tessera_lanes::RowBuffer* buffers,
                  std::int64_t row, float* frame) {
  tessera_lanes::kAvx2.run_row(steps, count, buffers, row, frame);
}
void run_row_avx512(const tessera_lanes::RowStep* steps, std::int64_t count, const tessera_lanes::RowBuffer* buffers,
                    std::int64_t row, float* frame) {
  tessera_lanes::kAvx512.run_row(steps, count, buffers, row, frame);
}

}  // namespace tessera::cpu
