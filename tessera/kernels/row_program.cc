#include "tessera/kernels/row_program.h"

#include <new>

#include "tessera/base/error.h"
#include "tessera/kernels/cpu/row_program.h"
#include "tessera/kernels/reference/row_program.h"

namespace tessera {
namespace {

constexpr RowImpl kImpls[] = {
    {"avx512", [](const Stream& s) { return s.device().is_cpu() && s.cpu_tier() >= CpuTier::kAvx512; },
     &cpu::run_row_avx512},
    {"avx2", [](const Stream& s) { return s.device().is_cpu() && s.cpu_tier() >= CpuTier::kAvx2; }, &cpu::run_row_avx2},
    {"reference", [](const Stream& s) { return s.device().is_cpu(); }, &reference::run_row},
};

}  // namespace

std::span<const RowImpl> row_impls() { return kImpls; }

void run_rows(Stream& stream, const RowProgram& program, std::span<const RowBuffer> buffers, std::int64_t rows) {
  const RowImpl* impl = nullptr;
  for (const RowImpl& candidate : kImpls)
    if (impl == nullptr && candidate.here(stream)) impl = &candidate;
  require(impl != nullptr, Errc::kUnsupported, "no kernel runs rows on {}", device_name(stream.device()));
  const auto count = static_cast<std::int64_t>(program.steps.size());
  parallel_for(stream.pool(), rows, [&](std::int64_t begin, std::int64_t end, int) {
    const Buffer frame(static_cast<std::size_t>(program.frame + 16) * sizeof(float), kCpu);
    auto* registers = reinterpret_cast<float*>(frame.data());
    for (std::int64_t row = begin; row < end; ++row)
      impl->run(program.steps.data(), count, buffers.data(), row, registers);
  });
}

}  // namespace tessera
