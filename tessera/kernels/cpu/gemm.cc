#include "tessera/kernels/cpu/gemm.h"

#include <optional>

#include "tessera/kernels/cpu/gemm_kernels.h"

namespace tessera::cpu {
namespace {

using tessera_lanes::Codes;
using tessera_lanes::GemmFacts;
using tessera_lanes::GemmKernels;
using tessera_lanes::Scales;

std::optional<Codes> codes_of(const PackedMatrix& w) {
  if (w.code_bits == 32) return Codes::kF32;
  const Element element = w.format.element;
  if (element == kE2M1) return Codes::kE2M1;
  if (element == kE4M3) return Codes::kE4M3;
  if (element == kE5M2) return Codes::kE5M2;
  if (element == kE8M7) return Codes::kBf16;
  return std::nullopt;
}
std::optional<Scales> scales_of(const PackedMatrix& w) {
  if (w.scale_bytes == 0) return Scales::kNone;
  if (w.scale_bytes == 4) return Scales::kF32;
  if (w.format.scale == kE4M3) return Scales::kE4M3;
  if (w.format.scale == kUE5M3) return Scales::kUE5M3;
  if (w.format.scale == kE8M0) return Scales::kE8M0;
  return std::nullopt;
}

GemmFacts facts_of(const GemmTile& tile) {
  const PackedMatrix& w = *tile.w;
  return {.codes = *codes_of(w),
          .scales = *scales_of(w),
          .panels = w.panels.as<std::uint8_t>(),
          .panel_bytes = w.panel_bytes(),
          .step_bytes = w.step_bytes(),
          .code_bytes = w.code_bytes(),
          .steps = w.steps(),
          .step = w.step,
          .chain = w.chain,
          .first_panel = tile.first_panel,
          .end_panel = tile.end_panel,
          .x = tile.x,
          .x_is_f32 = tile.x_type == DType::kF32,
          .m = tile.m,
          .k = w.extent.cols,
          .n = w.extent.rows,
          .factor = w.row_factor.count() > 0 ? w.row_factor.as<float>() : nullptr,
          .bias = tile.bias,
          .y = tile.y,
          .y_is_f32 = tile.y_type == DType::kF32,
          .y_stride = tile.y_stride};
}

void run(const GemmKernels& kernels, const GemmTile& tile) {
  const GemmFacts facts = facts_of(tile);
  const Buffer scratch(static_cast<std::size_t>(kernels.scratch_bytes(facts)), kCpu);
  kernels.run(facts, scratch.data());
}

}  // namespace

bool fits_panels(const GemmTile& tile) { return codes_of(*tile.w) && scales_of(*tile.w); }
bool fits_dots(const GemmTile& tile) {
  return fits_panels(tile) && tile.x_type == DType::kBf16 && codes_of(*tile.w) != Codes::kF32;
}

void gemm_avx2(const GemmTile& tile) { run(tessera_lanes::kGemmAvx2, tile); }
void gemm_avx512(const GemmTile& tile) { run(tessera_lanes::kGemmAvx512, tile); }
void gemm_avx512_bf16(const GemmTile& tile) { run(tessera_lanes::kGemmAvx512Bf16, tile); }

}  // namespace tessera::cpu
