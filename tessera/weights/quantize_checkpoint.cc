#include "tessera/weights/quantize_checkpoint.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/io/module_names.h"
#include "tessera/kernels/quantize.h"
#include "tessera/weights/dequantize_checkpoint.h"
#include "tessera/weights/fusion.h"
#include "tessera/weights/model_output.h"
#include "tessera/weights/spelled.h"
#include "tessera/weights/written_model.h"

namespace tessera {
namespace {

struct Job {
  const Module* module = nullptr;
  Spelled spelled;
  const Writer* writer = nullptr;
  float amax = 0;         // of the fusion group
  StoredGlobal global{};  // as the writer gives it
};

std::uint64_t hash_name(std::string_view name) {  // FNV-1a, 64 bits: a stable stream for a parameter
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

void require_dense(const Checkpoint& in) {
  std::size_t quantized = 0;
  const Module* first = nullptr;
  for (const Module& m : in.modules()) {
    if (!m.is_quantized()) continue;
    if (first == nullptr) first = &m;
    ++quantized;
  }
  require(quantized == 0, Errc::kInvalid,
          "{} holds {} quantized weights already ({} is {}): `tessera convert` changes the dialect, `tessera "
          "dequantize` goes back to dense weights",
          in.container().path(), quantized, first != nullptr ? first->name : "",
          first != nullptr ? format_label(first->reading.format) : "");
}

// What hinders a matrix from having this format, or "".
std::string misfit(const Format& format, Extent extent) {
  const Block b = block_in(format, extent);
  const bool one_row = format.block.rows == 1 && format.block.cols > 1;
  if (one_row && extent.cols % b.cols != 0)
    return fmt::format("{} columns do not divide into blocks of {}", extent.cols, b.cols);
  if (format.element.bits() < 8 && extent.cols % 2 != 0)
    return fmt::format("{} columns of 4-bit codes do not end on a byte", extent.cols);
  if (extent.count() == 0) return "it is empty";
  return "";
}

std::vector<Job> plan_jobs(const Checkpoint& in, const QuantizeOptions& options, QuantizeReport& report) {
  std::vector<std::string> names;
  std::vector<const Module*> modules;
  for (const Module& m : in.modules()) {
    if (m.codes->shape.size() != 2 || !m.codes->name.ends_with(".weight")) continue;
    names.push_back(m.name);
    modules.push_back(&m);
  }
  const std::vector<const RecipeRule*> rules = options.recipe.assign(names);
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (rules[i] == nullptr || rules[i]->weight.is_dense()) continue;
    const Format& format = rules[i]->weight;
    const Extent extent{modules[i]->codes->shape[0], modules[i]->codes->shape[1]};
    if (const std::string why = misfit(format, extent); !why.empty()) {
      const std::string message =
          fmt::format("{} ({} x {}) cannot be {}: {}", names[i], extent.rows, extent.cols, format_label(format), why);
      require(options.recipe.is_plain(), Errc::kShape, "{}; give it another format in the recipe ({})", message,
              rules[i]->source);
      report.warnings.push_back({"left_dense", names[i], message + "; it stays " + modules[i]->codes->type});
      continue;
    }
    const Writer& writer = rules[i]->writer != nullptr ? *rules[i]->writer
                           : options.writer != nullptr
                               ? *options.writer
                               : find_writer(options.dialect->writer.empty() ? "nearest" : options.dialect->writer);
    std::optional<Spelled> spelled = spell(*options.dialect, names[i], format, extent,
                                           writer.scales_in_source ? modules[i]->codes->dtype : DType::kF32);
    require(spelled.has_value(), Errc::kUnsupported,
            "the dialect {} has no spelling for {} ({}); `tessera dialects` lists what each can say",
            options.dialect->name, format_label(format), rules[i]->source);
    require(writer.supports(format), Errc::kUnsupported,
            "writer '{}' does not write {} ({}); --policy nearest writes every format", writer.name,
            format_label(format), rules[i]->source);
    if (!spelled->spelling->caveat.empty())
      report.warnings.push_back({"caveat", names[i],
                                 fmt::format("{} as {} in {}: {}", names[i], format_label(format),
                                             options.dialect->name, spelled->spelling->caveat)});
    jobs.push_back({modules[i], std::move(*spelled), &writer});
  }
  return jobs;
}

WrittenModel declared_model(const Checkpoint& in, const std::vector<Job>& jobs) {
  std::vector<WrittenModule> quantized;
  for (const Job& job : jobs) {
    const bool dynamic = format_family(job.spelled.format) == "FP8";
    quantized.push_back(
        {job.module->name, job.spelled.format, dynamic ? ActivationScheme::kDynamic : ActivationScheme::kNone});
  }
  return written_model(in, std::move(quantized), CacheScales::kAbsent);
}

// One maximum for each fusion group: the writer's global comes from it.
void observe_groups(Stream& stream, const Checkpoint& in, std::vector<Job>& jobs, const Dialect& dialect,
                    Progress& progress) {
  run_jobs(stream.pool(), jobs.size(), [&](std::size_t i) {
    Stream own(kCpu, 1);
    own.set_cpu_tier(stream.cpu_tier());
    const Format& f = jobs[i].spelled.format;
    if (!f.has_global && f.block.rows != 0) return;
    jobs[i].amax = stored_amax(own, in.container(), *jobs[i].module->codes);
    progress.add(jobs[i].module->codes->bytes);
  });
  std::vector<std::string> names;
  for (const Job& job : jobs) names.push_back(job.module->name);
  for (const std::vector<std::size_t>& group : fusion_groups(names, dialect)) {
    float largest = 0;
    for (const std::size_t i : group)
      if (jobs[i].spelled.format.has_global) largest = larger_maximum(largest, jobs[i].amax);
    for (const std::size_t i : group)
      if (jobs[i].spelled.format.has_global) jobs[i].amax = largest;
  }
}

// Globals, and what becomes of weights that are all zero: some exporters write scales of NaN for them, which no reader
// takes.
void resolve_globals(std::vector<Job>& jobs, ModelPlan& plan, QuantizeReport& report) {
  for (Job& job : jobs) {
    const Format& f = job.spelled.format;
    if ((f.has_global || f.block.rows == 0) && job.amax == 0) {
      const float g = job.writer->global(f, 0, job.module->codes->dtype);
      const ScaleChoice<float> s =
          job.writer->scale(f, {.amax = 0, .global = g, .source = job.module->codes->dtype}, 0);
      const float scale = decode_scale_bits<float>(f, s.bits);
      if (!is_finite(g) || g <= 0 || !is_finite(scale) || scale <= 0) {
        report.warnings.push_back(
            {"zero_weight", job.module->codes->name,
             fmt::format(
                 "{} is all zero, for which writer '{}' gives scales that no reader takes; it is written by 'nearest'",
                 job.module->codes->name, job.writer->name)});
        job.writer = &find_writer("nearest");
      }
    }
    if (!f.has_global) continue;
    job.global = {job.writer->global(f, job.amax, job.module->codes->dtype), job.writer->sense};
    const Sense stored = job.spelled.spelling->sense;
    if (stored != job.global.sense) plan.globals.keep(job.spelled.global_name(), job.global);
  }
}

void quantize_module(Stream& stream, const Checkpoint& in, const Job& job, const RandomKey& key, ShardedWriter& writer,
                     Progress& progress) {
  const StoredTensor& source = *job.module->codes;
  const Spelled& p = job.spelled;
  const OperandSpec spec{p.format, job.writer};
  const std::int64_t step = stripe_rows(p.format, p.extent, dtype_bits(source.dtype));
  for (std::int64_t row = 0; row < p.extent.rows; row += step) {
    const std::int64_t end = std::min(row + step, p.extent.rows);
    QuantizeContext where{
        .whole = p.extent, .row = row, .maxima = Maxima{job.amax}, .key = {key.seed, hash_name(source.name)}};
    if (p.format.block.rows == 0) where.maxima->blocks = {job.amax};
    try {
      const QuantizedTensor q = quantize(stream, read_stored_rows(in.container(), source, row, end), spec, where);
      if (p.format.block.rows == 0 && row > 0) {  // the one scale is written already
        writer.write(p.codes_name(), static_cast<std::uint64_t>(row * row_bytes(p.format, p.extent.cols)),
                     q.codes.span());
      } else {
        write_rows(writer, p, q, row);
      }
      if (row == 0 && p.format.has_global) write_global(writer, p, across_sense(job.global, p.spelling->sense));
    } catch (Error& e) {
      e.in_tensor(source.name).add_note(fmt::format("quantizing {} (rows {} to {})", source.name, row, end));
      throw;
    }
    progress.add(static_cast<std::uint64_t>((end - row) * p.extent.cols * dtype_bits(source.dtype) / 8));
  }
}

}  // namespace

Tensor read_stored_rows(const Container& container, const StoredTensor& tensor, std::int64_t begin, std::int64_t end) {
  const std::int64_t cols = tensor.shape.back();
  Tensor rows(tensor.dtype, {end - begin, cols});
  container.read(tensor,
                 static_cast<std::uint64_t>(begin * cols) * static_cast<std::uint64_t>(dtype_bits(tensor.dtype)) / 8,
                 rows.span());
  return rows;
}

float stored_amax(Stream& stream, const Container& container, const StoredTensor& tensor) {
  const Extent extent{tensor.shape[0], tensor.shape[1]};
  const std::int64_t step = stripe_rows(Format{.block = {1, 1}}, extent, dtype_bits(tensor.dtype));
  float largest = 0;
  for (std::int64_t row = 0; row < extent.rows; row += step) {
    const Tensor x = read_stored_rows(container, tensor, row, std::min(row + step, extent.rows));
    const float amax = observe(stream, x).tensor;
    if (!is_finite(amax)) {
      std::int64_t i = 0;
      while (i + 1 < x.count() && is_finite(element_as_float(x, i))) ++i;
      Error error(Errc::kInvalid,
                  fmt::format("{}[{}, {}] is {}: a weight that is not finite cannot be quantized", tensor.name,
                              row + i / extent.cols, i % extent.cols, element_as_float(x, i)));
      error.in_tensor(tensor.name);
      throw error;
    }
    largest = larger_maximum(largest, amax);
  }
  return largest;
}

QuantizeReport quantize_checkpoint(Stream& stream, const Checkpoint& in, const std::string& out,
                                   const QuantizeOptions& options) {
  require(stream.device().is_cpu(), Errc::kUnsupported, "quantize works on the CPU: files are read and written there");
  require(in.container().kind() != Container::Kind::kGguf, Errc::kInvalid,
          "{} is a GGUF file: `tessera dequantize` makes a folder of it, which can be quantized",
          in.container().path());
  in.require_usable();
  require_dense(in);
  QuantizeReport report;
  std::vector<Job> jobs = plan_jobs(in, options, report);
  require(!jobs.empty(), Errc::kInvalid, "the recipe quantizes none of the {} weights of {}", in.modules().size(),
          in.container().path());
  ModelPlan plan{.tensors = {}, .config = in.config(), .globals = {}};
  erase_declarations(plan.config);
  std::map<const StoredTensor*, const Job*> job_of;
  for (const Job& job : jobs) job_of[job.module->codes] = &job;
  std::uint64_t work = 0;
  std::vector<const StoredTensor*> copied;
  for (const StoredTensor& t : in.container().tensors()) {
    const auto it = job_of.find(&t);
    const std::size_t first = plan.tensors.size();
    if (it == job_of.end()) {
      copied.push_back(&t);
      plan.tensors.push_back({t.name, t.dtype, t.shape, in.place(t).module});
    } else {
      for (PlannedTensor& p : planned_tensors(it->second->spelled)) plan.tensors.push_back(std::move(p));
      const Format& f = it->second->spelled.format;
      if (f.has_global || f.block.rows == 0) work += t.bytes;
    }
    std::uint64_t after = 0;
    for (std::size_t i = first; i < plan.tensors.size(); ++i) after += planned_bytes(plan.tensors[i]);
    if (it != job_of.end())
      report.quantized.push_back({it->second->module->name, format_label(it->second->spelled.format),
                                  std::string(it->second->writer->name), it->second->spelled.extent, t.bytes, after});
    report.bytes_before += t.bytes;
    report.bytes_after += after;
    work += t.bytes;
  }
  if (options.dialect->write_declaration != nullptr && plan.config.config.is_object())
    options.dialect->write_declaration(declared_model(in, jobs), plan.config);
  Progress progress("quantizing", work, options.show_progress ? ProgressMode::kAuto : ProgressMode::kNever,
                    options.check);
  observe_groups(stream, in, jobs, *options.dialect, progress);
  resolve_globals(jobs, plan, report);
  ModelOutput output(in, out, std::move(plan));
  run_jobs(stream.pool(), jobs.size() + copied.size(), [&](std::size_t i) {
    if (i >= jobs.size())
      return copy_tensor(in.container(), *copied[i - jobs.size()], copied[i - jobs.size()]->name, output.writer(),
                         progress);
    Stream own(kCpu, 1);
    own.set_cpu_tier(stream.cpu_tier());
    quantize_module(own, in, jobs[i], options.key, output.writer(), progress);
  });
  output.commit();
  return report;
}

}  // namespace tessera
