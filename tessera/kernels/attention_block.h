// One block of attention, of builtin types only: the CPU tiers share it with the rest of the program
// (cpu/lane_kernels.h says why).
#pragma once
#include <cstdint>

namespace tessera_lanes {

// Up to kQueries queries that read the same keys and values: rows of one sequence, heads of one group.
struct AttentionBlock {
  static constexpr int kQueries = 16;

  int count = 0;
  const float* q[kQueries] = {};        // [width] each
  float* y[kQueries] = {};              // [width] each
  std::int64_t lengths[kQueries] = {};  // keys that each sees
  const std::int32_t* pages = nullptr;  // of the sequence
  const std::uint8_t* head = nullptr;   // page p's keys of the head start at head + p * page_bytes
  std::int64_t page_bytes = 0, width = 0;
  int type = 0;                          // a tessera::DType: F32, BF16 or F8_E4M3
  float key_scale = 1, value_scale = 1;  // of FP8
  float scale = 0;                       // log2(e) included
};

}  // namespace tessera_lanes
