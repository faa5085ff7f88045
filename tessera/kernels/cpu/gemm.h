// y = x w^T on the CPU, a translation unit per instruction set (tier_*_gemm.cc), all made from gemm_panels.h.
#pragma once
#include "tessera/kernels/gemm.h"

namespace tessera::cpu {

bool fits_panels(const GemmTile&);  // codes and scales that pack() lets stand
bool fits_dots(const GemmTile&);    // the same where x is bf16 and the codes are exact in it

void gemm_avx2(const GemmTile&);
void gemm_avx512(const GemmTile&);
void gemm_avx512_bf16(const GemmTile&);

}  // namespace tessera::cpu
