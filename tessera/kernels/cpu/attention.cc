#include "tessera/kernels/cpu/attention.h"

#include "tessera/kernels/cpu/flush_scope.h"
#include "tessera/kernels/cpu/lane_kernels.h"

namespace tessera::cpu {

void attend_avx2(const tessera_lanes::AttentionBlock& block) {
  const FlushScope flush;
  tessera_lanes::kAvx2.attend(block);
}
void attend_avx512(const tessera_lanes::AttentionBlock& block) {
  const FlushScope flush;
  tessera_lanes::kAvx512.attend(block);
}

}  // namespace tessera::cpu
