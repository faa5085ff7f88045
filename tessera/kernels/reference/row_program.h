// Row programs one value at a time.
#pragma once
#include "tessera/kernels/row_step.h"

namespace tessera::reference {

void run_row(const tessera_lanes::RowStep* steps, std::int64_t count, const tessera_lanes::RowBuffer* buffers,
             std::int64_t row, float* frame);

}  // namespace tessera::reference
