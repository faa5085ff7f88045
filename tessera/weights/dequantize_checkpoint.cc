#include "tessera/weights/dequantize_checkpoint.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"
#include "tessera/weights/model_output.h"

namespace tessera {
namespace {

std::string dense_name(const Module& m) { return m.name + ".weight"; }

void dequantize_module(Stream& stream, const Checkpoint& in, const Module& m, DType dtype, ShardedWriter& writer,
                       Progress& progress) {
  const Extent extent = m.reading.extent;
  const std::int64_t step = stripe_rows(m.reading.format, extent, dtype_bits(dtype));
  const auto row_size = static_cast<std::uint64_t>(extent.cols) * static_cast<std::uint64_t>(dtype_bits(dtype)) / 8;
  for (std::int64_t row = 0; row < extent.rows; row += step) {
    const std::int64_t end = std::min(row + step, extent.rows);
    const Tensor values = dequantize(stream, in.load_rows(m, row, end), dtype);
    writer.write(dense_name(m), static_cast<std::uint64_t>(row) * row_size, values.span());
    progress.add(values.bytes());
  }
}

}  // namespace

void erase_declarations(ModelConfig& config) {
  config.sidecar = Json();
  for (const std::string_view key : {"quantization_config", "compression_config"}) {
    config.config.erase(key);
    if (Json* text = config.config.find("text_config"); text != nullptr && text->is_object()) text->erase(key);
  }
}

DequantizeReport dequantize_checkpoint(Stream& stream, const Checkpoint& in, const std::string& out,
                                       const DequantizeOptions& options) {
  require(stream.device().is_cpu(), Errc::kUnsupported,
          "dequantize works on the CPU: files are read and written there");
  in.require_usable();
  DequantizeReport report;
  ModelPlan plan{.tensors = {}, .config = in.config(), .globals = {}};
  erase_declarations(plan.config);
  std::vector<const Module*> jobs;
  std::vector<const StoredTensor*> copied;
  std::uint64_t work = 0;
  for (const StoredTensor& t : in.container().tensors()) {
    report.bytes_before += t.bytes;
    const Checkpoint::Place place = in.place(t);
    const Module* m = place.module.empty() ? nullptr : in.find(place.module);
    if (place.role == Role::kKvScale) {
      report.warnings.push_back(
          {"kv_scale_dropped", t.name, fmt::format("{} is left out: a dense model's cache has no scales", t.name)});
    } else if (m == nullptr || !m->is_quantized()) {
      plan.tensors.push_back({t.name, t.dtype, t.shape, place.module});
      copied.push_back(&t);
      work += t.bytes;
    } else if (&t == m->codes) {
      plan.tensors.push_back(
          {dense_name(*m), options.dtype, {m->reading.extent.rows, m->reading.extent.cols}, m->name});
      jobs.push_back(m);
      work += planned_bytes(plan.tensors.back());
    }
  }
  require(!jobs.empty(), Errc::kInvalid, "{} holds no quantized weights", in.container().path());
  for (const PlannedTensor& p : plan.tensors) report.bytes_after += planned_bytes(p);
  Progress progress("dequantizing", work, options.show_progress ? ProgressMode::kAuto : ProgressMode::kNever,
                    options.check);
  ModelOutput output(in, out, std::move(plan));
  run_jobs(stream.pool(), jobs.size() + copied.size(), [&](std::size_t i) {
    if (i >= jobs.size())
      return copy_tensor(in.container(), *copied[i - jobs.size()], copied[i - jobs.size()]->name, output.writer(),
                         progress);
    Stream own(kCpu, 1);
    own.set_cpu_tier(stream.cpu_tier());
    dequantize_module(own, in, *jobs[i], options.dtype, output.writer(), progress);
  });
  report.dequantized = jobs.size();
  output.commit();
  return report;
}

}  // namespace tessera
