#include "tessera/kernels/gemm.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/kernels/cpu/gemm.h"
#include "tessera/kernels/reference/gemm.h"

namespace tessera {
namespace {

template <CpuTier kTier>
bool has_tier(const Stream& s) {
  return s.device().is_cpu() && s.cpu_tier() >= kTier;
}
bool always() { return true; }
// A dot product of bf16 takes two to four times as long as a multiply-add of f32 on Intel's processors, and as long on
// AMD's (docs/design/gemm.md).
bool dots_are_fast() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

// Most special first, the reference last. All of them give the same bits.
constexpr GemmImpl kImpls[] = {
    {"avx512_bf16", &has_tier<CpuTier::kAvx512Bf16>, &cpu::fits_dots, &dots_are_fast, &cpu::gemm_avx512_bf16},
    {"avx512", &has_tier<CpuTier::kAvx512>, &cpu::fits_panels, &always, &cpu::gemm_avx512},
    {"avx2", &has_tier<CpuTier::kAvx2>, &cpu::fits_panels, &always, &cpu::gemm_avx2},
    {"reference", &has_tier<CpuTier::kReference>, [](const GemmTile&) { return true; }, &always, &reference::gemm},
};

void require_activations(const Tensor& t, std::string_view name) {
  require(t.dtype() == DType::kBf16 || t.dtype() == DType::kF32, Errc::kUnsupported, "gemm: {} is {}; BF16 or F32 fit",
          name, dtype_name(t.dtype()));
}

void require_fit(const GemmArgs& args) {
  require_activations(args.x, "x");
  require_activations(args.y, "y");
  const Extent x = args.x.extent(), y = args.y.extent();
  require(x.rows == y.rows, Errc::kShape, "gemm: x has {} rows, y has {}", x.rows, y.rows);
  for (const GemmPart& part : args.parts) {
    const Extent w = part.w->extent;
    require(w.cols == x.cols, Errc::kShape, "gemm: x has {} columns, the weight has {}", x.cols, w.cols);
    require(part.column >= 0 && part.column + w.rows <= y.cols, Errc::kShape,
            "gemm: the weight's {} rows at column {} leave y's {} columns", w.rows, part.column, y.cols);
  }
}

}  // namespace

std::span<const GemmImpl> gemm_impls() { return kImpls; }

const GemmImpl& gemm_impl_for(const Stream& stream, const GemmTile& tile) {
  for (const GemmImpl& impl : kImpls)
    if (impl.here(stream) && impl.fits(tile) && impl.pays()) return impl;
  fail(Errc::kUnsupported, "no kernel multiplies on {}", device_name(stream.device()));
}

// Panels of all parts are counted through and cut once, so that a job of several matrices starts the threads once.
void gemm_nt(Stream& stream, const GemmArgs& args) {
  require_fit(args);
  const Extent x = args.x.extent();
  if (x.rows == 0) return;
  std::int64_t panels = 0;
  for (const GemmPart& part : args.parts) panels += part.w->panel_count();
  const std::int64_t y_bytes = dtype_bits(args.y.dtype()) / 8;
  parallel_for(stream.pool(), panels, [&](std::int64_t begin, std::int64_t end, int) {
    std::int64_t first = 0;
    for (const GemmPart& part : args.parts) {
      const std::int64_t count = part.w->panel_count();
      const GemmTile tile{.x = args.x.data(),
                          .x_type = args.x.dtype(),
                          .m = x.rows,
                          .w = part.w,
                          .bias = part.bias,
                          .first_panel = std::max(begin - first, std::int64_t{0}),
                          .end_panel = std::min(end - first, count),
                          .y = args.y.data() + part.column * y_bytes,
                          .y_type = args.y.dtype(),
                          .y_stride = args.y.extent().cols};
      if (tile.first_panel < tile.end_panel) gemm_impl_for(stream, tile).run(tile);
      first += count;
    }
  });
}

}  // namespace tessera
