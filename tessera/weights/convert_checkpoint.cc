#include "tessera/weights/convert_checkpoint.h"

#include <algorithm>
#include <set>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"
#include "tessera/weights/cache_scales.h"
#include "tessera/weights/dequantize_checkpoint.h"
#include "tessera/weights/expert_bias.h"
#include "tessera/weights/model_output.h"
#include "tessera/weights/spelled.h"
#include "tessera/weights/written_model.h"

namespace tessera {
namespace {

struct Job {
  const Module* module = nullptr;
  Spelled spelled;
  bool requantize = false;
};

// The sense of the file when `s` is written: globals, and activation scales.
void keep_original(ModelPlan& plan, const std::string& name, const StoredGlobal& original, Sense target) {
  if (original.sense != target) plan.globals.keep(name, original);
}

// The dtypes of f32 scales on disk: as they are within a dialect; else the target's first one that holds them exactly.
void choose_dtypes(const Checkpoint& in, const Module& m, const Dialect& target, Spelled& spelled) {
  const bool same = m.reading.dialect == &target;
  if (spelled.has_activation && !spelled.format.has_global) {
    const float scale = across_sense(*m.activation, spelled.spelling->activation_sense);
    spelled.activation_dtype =
        same ? m.activation_tensor->dtype : exact_dtype(spelled.spelling->scales_dtypes, std::span(&scale, 1));
  }
  const DType on_disk = m.scales != nullptr ? m.scales->dtype : DType::kF32;
  if (spelled.format.scale != kE8M23 || on_disk == DType::kF8E8M0 || on_disk == DType::kU8) return;
  if (same) {
    spelled.scale_dtype = on_disk;
    return;
  }
  std::vector<float> values{1.f};
  if (m.scales != nullptr) {
    const Tensor stored = in.load_tensor(*m.scales);
    values.resize(static_cast<std::size_t>(stored.count()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = element_as_float(stored, static_cast<std::int64_t>(i));
  }
  spelled.scale_dtype = exact_dtype(spelled.spelling->scales_dtypes, values);
}

std::vector<Job> plan_jobs(const Checkpoint& in, const ConvertOptions& options, ConvertReport& report) {
  const Dialect& target = *options.dialect;
  std::vector<Job> jobs;
  std::map<std::string, std::vector<std::string>> refused;  // format -> modules
  for (const Module& m : in.modules()) {
    if (!m.is_quantized()) continue;
    std::optional<Spelled> spelled =
        spell(target, m.name, m.reading.format, m.reading.extent, DType::kF32, experts_of(in, m));
    bool requantize = false;
    if (!spelled && options.requantize) {
      const Format* nearest = nearest_format(target, m.reading.format);
      if (nearest != nullptr)
        spelled = spell(target, m.name, *nearest, m.reading.extent, DType::kF32, experts_of(in, m));
      requantize = spelled.has_value();
      if (requantize)
        report.requantized.push_back(
            fmt::format("{}: {} -> {}", m.name, format_label(m.reading.format), nearest->name));
    }
    if (!spelled) {
      refused[format_label(m.reading.format)].push_back(m.name);
      continue;
    }
    spelled->has_activation = m.activation.has_value() && !spelled->spelling->activation.empty();
    if (m.activation && !spelled->has_activation)
      report.warnings.push_back({"activation_scale_dropped", m.activation_tensor->name,
                                 fmt::format("{} is left out: {} has no activation scale for {}",
                                             m.activation_tensor->name, target.name, format_label(m.reading.format))});
    if (!requantize) choose_dtypes(in, m, target, *spelled);
    jobs.push_back({&m, std::move(*spelled), requantize});
  }
  std::string listed;
  for (const auto& [format, modules] : refused)
    listed += fmt::format("{}{} ({} modules, {} the first)", listed.empty() ? "" : ", ", format, modules.size(),
                          modules.front());
  std::string able;
  for (const Spelling& s : target.spellings)
    if (!s.only_read) able.append(able.empty() ? "" : ", ").append(s.format);
  require(refused.empty(), Errc::kUnsupported,
          "{} cannot say {}; it says {}. --requantize changes such weights to its nearest format", target.name, listed,
          able);
  return jobs;
}

WrittenModel declared_model(const Checkpoint& in, const std::vector<Job>& jobs, CacheScales cache_scales) {
  std::vector<WrittenModule> quantized;
  for (const Job& job : jobs)
    quantized.push_back(
        {job.module->name, job.spelled.format, job.module->activation_scheme, job.module->reading.extent});
  return written_model(in, std::move(quantized), cache_scales);
}

void write_numbers(const Job& job, ShardedWriter& writer, float global) {
  if (job.spelled.format.has_global) write_global(writer, job.spelled, global);
  if (job.spelled.has_activation)
    write_activation(writer, job.spelled,
                     across_sense(*job.module->activation, job.spelled.spelling->activation_sense));
}

void convert_module(const Checkpoint& in, const Job& job, ShardedWriter& writer, Progress& progress) {
  const Module& m = *job.module;
  const std::int64_t rows = m.reading.extent.rows;
  const bool one_scale = m.reading.format.block.rows == 0;
  // A single scale for all rows is written once, so such a matrix goes in one piece.
  const std::int64_t step = one_scale ? std::max<std::int64_t>(1, rows)
                                      : stripe_rows(m.reading.format, m.reading.extent, 8, job.spelled.row_granule());
  for (std::int64_t row = 0; row < rows; row += step) {
    const std::int64_t end = std::min(row + step, rows);
    write_rows(writer, job.spelled, in.load_rows(m, row, end), row);
    progress.add(m.bytes() * static_cast<std::uint64_t>(end - row) / static_cast<std::uint64_t>(rows));
  }
  if (one_scale && rows == 0) {
    const bool stored = m.scales != nullptr && m.scales->elements() > 0;
    write_scale_of_no_rows(writer, job.spelled, stored ? element_as_float(in.load_tensor(*m.scales), 0) : 1.f);
  }
  write_numbers(job, writer, m.global ? across_sense(*m.global, job.spelled.spelling->sense) : 1.f);
}

// Through f32, by the target's own writer; the whole matrix, since its global may need the maximum.
void requantize_module(Stream& stream, const Checkpoint& in, const Job& job, const Dialect& target,
                       ShardedWriter& writer, Progress& progress) {
  const Writer* own = target.writer.empty() ? nullptr : &find_writer(target.writer);
  if (own != nullptr && !own->supports(job.spelled.format)) own = nullptr;
  const QuantizedTensor q = quantize(stream, dequantize(stream, in.load(*job.module)), {job.spelled.format, own});
  write_rows(writer, job.spelled, q, 0);
  write_scale_of_no_rows(writer, job.spelled, 1);
  const StoredGlobal global{job.spelled.format.has_global ? q.global.as<float>()[0] : 1.f, q.sense};
  write_numbers(job, writer, across_sense(global, job.spelled.spelling->sense));
  progress.add(job.module->bytes());
}

}  // namespace

ConvertReport convert_checkpoint(Stream& stream, const Checkpoint& in, const std::string& out,
                                 const ConvertOptions& options) {
  require(stream.device().is_cpu(), Errc::kUnsupported, "convert works on the CPU: files are read and written there");
  require_written(*options.dialect);
  require_self_contained(in, options.dialect->name);
  in.require_usable();
  ConvertReport report;
  const std::vector<Job> jobs = plan_jobs(in, options, report);
  require(!jobs.empty(), Errc::kInvalid, "{} holds no quantized weights: `tessera quantize` makes them",
          in.container().path());
  ModelPlan plan{.tensors = {}, .config = in.config(), .globals = {}};
  erase_declarations(plan.config);
  std::map<const StoredTensor*, std::vector<const Job*>> jobs_of;  // by their codes: a bank's are many
  std::set<std::string_view> converted;                            // modules and banks
  ExpertBiases biases;
  for (const Job& job : jobs) {
    jobs_of[job.module->codes].push_back(&job);
    converted.insert(job.module->bank.empty() ? job.module->name : job.module->bank);
    biases.add(in, *job.module, job.spelled);
  }
  plan.tensors = biases.planned();
  std::vector<std::pair<const StoredTensor*, PlannedTensor>> copied;
  std::uint64_t work = 0;
  CacheScales cache_scales = CacheScales::kAbsent;
  for (const StoredTensor& t : in.container().tensors()) {
    report.bytes_before += t.bytes;
    const Checkpoint::Place place = in.place(t);
    const bool cache = place.role == Role::kKvScale;
    if (const auto it = jobs_of.find(&t); it != jobs_of.end()) {
      for (const Job* job : it->second)
        for (PlannedTensor& p : planned_tensors(job->spelled)) plan.tensors.push_back(std::move(p));
      work += t.bytes;
    } else if (!cache && (converted.contains(place.module) || place.role == Role::kMarker)) {
      if (place.role == Role::kIgnored)
        report.warnings.push_back({"left_out", t.name, fmt::format("{} is left out: nothing uses it", t.name)});
    } else if (!biases.moves(t)) {
      if (cache) cache_scales = CacheScales::kPresent;
      copied.emplace_back(&t, cache ? planned_cache_scale(in, t, *options.dialect)
                                    : PlannedTensor{t.name, t.dtype, t.shape, place.module});
      plan.tensors.push_back(copied.back().second);
      work += t.bytes;
    }
  }
  for (const PlannedTensor& p : plan.tensors) report.bytes_after += planned_bytes(p);
  for (const Job& job : jobs) {
    const Spelling& s = *job.spelled.spelling;
    if (job.module->global && !job.requantize)
      keep_original(plan, job.spelled.global_name(), *job.module->global, s.sense);
    if (job.spelled.has_activation)
      keep_original(plan, job.spelled.activation_name(), *job.module->activation, s.activation_sense);
  }
  WrittenModel declared = declared_model(in, jobs, cache_scales);
  for (const auto& [tensor, planned] : copied) declared.plain.push_back(planned.name);
  for (const PlannedTensor& bias : biases.planned()) declared.plain.push_back(bias.name);
  declare(*options.dialect, declared, plan.config);
  Progress progress("converting", work, options.show_progress ? ProgressMode::kAuto : ProgressMode::kNever,
                    options.check);
  ModelOutput output(in, out, std::move(plan));
  biases.write(in, output.writer());
  run_jobs(stream.pool(), jobs.size() + copied.size(), [&](std::size_t i) {
    if (i >= jobs.size()) {
      const auto& [tensor, planned] = copied[i - jobs.size()];
      if (in.place(*tensor).role == Role::kKvScale) return write_cache_scale(in, *tensor, planned, output.writer());
      return copy_tensor(in.container(), *tensor, planned.name, output.writer(), progress);
    }
    if (!jobs[i].requantize) return convert_module(in, jobs[i], output.writer(), progress);
    Stream own(kCpu, 1);
    own.set_cpu_tier(stream.cpu_tier());
    requantize_module(own, in, jobs[i], *options.dialect, output.writer(), progress);
  });
  report.converted = jobs.size();
  output.commit();
  return report;
}

}  // namespace tessera
