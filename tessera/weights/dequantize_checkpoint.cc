#include "tessera/weights/dequantize_checkpoint.h"

#include <algorithm>
#include <set>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"
#include "tessera/weights/model_output.h"
#include "tessera/weights/written_model.h"

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

PlannedTensor planned_bank(const Bank& bank, DType dtype) {
  const Extent e = bank.extent;
  return {bank.name, dtype,
          bank.dense_transposed ? Shape{bank.experts, e.cols, e.rows} : Shape{bank.experts, e.rows, e.cols}, bank.name};
}

// One expert of a bank, its parts put together as the model has them unquantized.
void dequantize_expert(Stream& stream, const Checkpoint& in, const Bank& bank, std::int64_t expert, DType dtype,
                       ShardedWriter& writer, Progress& progress) {
  const std::size_t unit = static_cast<std::size_t>(dtype_bits(dtype)) / 8;
  std::vector<std::byte> matrix(static_cast<std::size_t>(bank.extent.count()) * unit);
  for (const BankPart& part : bank.parts) {
    const Module& m = *in.find(expert_module(bank.name, expert, part.name));
    const Tensor values = dequantize(stream, in.load(m), dtype);
    const Grid place{.order = bank.dense_transposed ? GridOrder::kColumns : GridOrder::kRows,
                     .stored = bank.extent,
                     .first_row = part.first_row,
                     .row_step = part.row_step};
    put_grid(values.span(), place, unit, m.reading.extent, 0, matrix, {0, bank.extent.count()});
  }
  writer.write(bank.name, static_cast<std::uint64_t>(expert) * matrix.size(), matrix);
  progress.add(matrix.size());
}

}  // namespace

void erase_declarations(ModelConfig& config) {
  config.sidecar = Json();
  // torchao says of every tensor what it is, in JSON with a "_type".
  std::erase_if(config.metadata, [](const auto& entry) {
    return entry.first == "quantization_config" || entry.first == "_quantization_metadata" ||
           entry.first == "tensor_names" || entry.first == kGlobalsKey || entry.second.starts_with("{\"_type\"");
  });
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
  require_self_contained(in, "a dense model");
  DequantizeReport report;
  ModelPlan plan{.tensors = {}, .config = in.config(), .globals = {}};
  erase_declarations(plan.config);
  struct Job {
    const Module* module = nullptr;
    const Bank* bank = nullptr;
    std::int64_t expert = 0;
  };
  std::vector<Job> jobs;
  std::vector<const StoredTensor*> copied;
  std::set<const Bank*> planned;
  std::uint64_t work = 0;
  for (const StoredTensor& t : in.container().tensors()) {
    report.bytes_before += t.bytes;
    const Checkpoint::Place place = in.place(t);
    const Module* m = place.module.empty() ? nullptr : in.find(place.module);
    const Bank* bank = place.module.empty() ? nullptr : in.find_bank(place.module);
    if (bank != nullptr && !in.find(expert_module(bank->name, 0, bank->parts.front().name))->is_quantized())
      bank = nullptr;
    if (place.role == Role::kKvScale) {
      report.warnings.push_back(
          {"kv_scale_dropped", t.name, fmt::format("{} is left out: a dense model's cache has no scales", t.name)});
    } else if (bank != nullptr) {
      if (!planned.insert(bank).second) continue;
      plan.tensors.push_back(planned_bank(*bank, options.dtype));
      for (std::int64_t e = 0; e < bank->experts; ++e) jobs.push_back({nullptr, bank, e});
      work += planned_bytes(plan.tensors.back());
    } else if (m != nullptr && m->is_quantized()) {
      if (&t != m->codes) continue;
      plan.tensors.push_back(
          {dense_name(*m), options.dtype, {m->reading.extent.rows, m->reading.extent.cols}, m->name});
      jobs.push_back({m, nullptr, 0});
      work += planned_bytes(plan.tensors.back());
    } else if (place.role != Role::kMarker) {
      plan.tensors.push_back({t.name, t.dtype, t.shape, place.module});
      copied.push_back(&t);
      work += t.bytes;
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
    if (jobs[i].bank != nullptr)
      return dequantize_expert(own, in, *jobs[i].bank, jobs[i].expert, options.dtype, output.writer(), progress);
    dequantize_module(own, in, *jobs[i].module, options.dtype, output.writer(), progress);
  });
  for (const Module& m : in.modules()) report.dequantized += m.is_quantized() ? 1 : 0;
  output.commit();
  return report;
}

}  // namespace tessera
