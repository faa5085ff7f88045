// What a tier gives to gemm.cc: y = x w^T for a run of packed panels, on plain pointers (lane_kernels.h says why).
#pragma once
#include <cstdint>

namespace tessera_lanes {

enum class Codes { kE2M1, kE4M3, kE5M2, kBf16, kF32 };
enum class Scales { kNone, kE4M3, kUE5M3, kE8M0, kF32 };  // kNone: every chain counts once

// A GemmTile and what its PackedMatrix says of the panels; lengths along k in elements.
struct GemmFacts {
  Codes codes;
  Scales scales;
  const std::uint8_t* panels;  // panel 0
  std::int64_t panel_bytes, step_bytes, code_bytes;
  std::int64_t steps, step, chain;
  std::int64_t first_panel, end_panel;
  const void* x;  // [m, k]
  bool x_is_f32;  // or bf16
  std::int64_t m, k, n;
  const float* factor;  // [n], or null
  const float* bias;    // [n], or null
  void* y;              // [m, n], rows y_stride elements apart
  bool y_is_f32;        // or bf16
  std::int64_t y_stride;
};

struct GemmKernels {
  std::int64_t (*scratch_bytes)(const GemmFacts&);
  void (*run)(const GemmFacts&, void* scratch);  // scratch: aligned to 64
};

extern const GemmKernels kGemmAvx2;
extern const GemmKernels kGemmAvx512;
extern const GemmKernels kGemmAvx512Bf16;  // x: bf16; codes: not kF32

}  // namespace tessera_lanes
