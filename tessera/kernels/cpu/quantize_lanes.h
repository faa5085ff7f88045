// The source of every tier: Kernels of one set of vector types and instructions, `Ops`.
//
// Ops has: F, U, I (kLanes floats, words, ints), HalfH (kLanes words of 16 bits), ByteLanes (kLanes bytes), and the
// instructions that vector extensions do not name: see tier_avx2.cc for the list with what each one does.
#pragma once
#include "tessera/kernels/cpu/attention_lanes.h"
#include "tessera/kernels/cpu/decode_lanes.h"
#include "tessera/kernels/cpu/encode_lanes.h"
#include "tessera/kernels/cpu/fast_encode.h"
#include "tessera/kernels/cpu/observe_lanes.h"
#include "tessera/kernels/cpu/resolve_lanes.h"
#include "tessera/kernels/cpu/row_lanes.h"

namespace tessera::cpu {

template <class Ops>
constexpr tessera_lanes::Kernels kernels_of() {
  return {.amax = &amax<Ops>,
          .block_amax = &block_amax<Ops>,
          .resolve = &resolve<Ops>,
          .resolve_given = &resolve_given<Ops>,
          .search = &search<Ops>,
          .prepare = &prepare<Ops>,
          .encode = &encode<Ops>,
          .decode = &decode<Ops>,
          .fence = &Ops::fence,
          .run_row = &run_row<Ops>,
          .attend = &attend<Ops>};
}

}  // namespace tessera::cpu
