// attend() as attention.h defines it, one value at a time.
#pragma once
#include "tessera/kernels/attention.h"

namespace tessera::reference {

void attend(const tessera_lanes::AttentionBlock& block);

}  // namespace tessera::reference
