// gemm_nt as gemm.h defines it, one element at a time.
#pragma once
#include "tessera/kernels/gemm.h"

namespace tessera::reference {

void gemm(const GemmTile& tile);

}  // namespace tessera::reference
