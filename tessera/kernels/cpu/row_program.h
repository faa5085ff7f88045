// Row programs, a function for each CPU tier (row_lanes.h compiled in tier_avx2.cc and tier_avx512.cc).
#pragma once
#include "tessera/kernels/row_step.h"

namespace tessera::cpu {

void run_row_avx2(const tessera_lanes::RowStep* steps, std::int64_t count, const tessera_lanes::RowBuffer* buffers,
                  std::int64_t row, float* frame);
void run_row_avx512(const tessera_lanes::RowStep* steps, std::int64_t count, const tessera_lanes::RowBuffer* buffers,
                    std::int64_t row, float* frame);

}  // namespace tessera::cpu
