#include "tessera/weights/quantize_checkpoint.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/io/module_names.h"
#include "tessera/kernels/quantize.h"
#include "tessera/weights/dequantize_checkpoint.h"
#include "tessera/weights/expert_bias.h"
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
  Tensor held{};          // the whole weight, between the two passes over it; empty: its rows are read again
  std::optional<ContainerWarning> warning{};

  // The maximum of the whole comes before the first code.
  bool needs_amax() const { return spelled.format.has_global || spelled.format.block.rows == 0; }
  const StoredTensor& source() const { return *module->codes; }
  std::uint64_t bytes() const { return module->bytes(); }  // of the dense weight
};

using Group = std::vector<std::size_t>;  // jobs whose weights share one global

// A group up to this size stays in memory between its two passes; a larger one is read twice, the second time mostly
// from the page cache, since its passes follow each other.
constexpr std::uint64_t kHeldBytes = 8u << 20;

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
  if (extent.cols % codes_of_whole_bytes(format.element) != 0)
    return fmt::format("{} columns of {}-bit codes do not end on a byte", extent.cols, format.element.bits());
  if (extent.count() == 0) return "it is empty";
  return "";
}

std::vector<Job> plan_jobs(const Checkpoint& in, const QuantizeOptions& options, QuantizeReport& report) {
  std::vector<std::string> names;
  std::vector<const Module*> modules;
  for (const Module& m : in.modules()) {
    if (!m.is_matrix() || (m.bank.empty() && !m.codes->name.ends_with(".weight"))) continue;
    names.push_back(m.name);
    modules.push_back(&m);
  }
  const std::vector<const RecipeRule*> rules = options.recipe.assign(names);
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (rules[i] == nullptr || rules[i]->weight.is_dense()) continue;
    const Format& format = rules[i]->weight;
    const Extent extent = modules[i]->reading.extent;
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
    std::optional<Spelled> spelled =
        spell(*options.dialect, names[i], format, extent,
              writer.scales_in_source ? modules[i]->codes->dtype : DType::kF32, experts_of(in, *modules[i]));
    if (!spelled && options.recipe.is_plain() && find_spelling(*options.dialect, format) != nullptr) {
      report.warnings.push_back(
          {"left_dense", names[i],
           fmt::format("{} stays {}: {} says {} of experts that stand in one tensor alone", names[i],
                       modules[i]->codes->type, options.dialect->name, format_label(format))});
      continue;
    }
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

// Its experts leave a bank together.
void require_whole_bank(const Checkpoint& in, const std::vector<const Job*>& jobs) {
  const Module& first = *jobs.front()->module;
  if (first.bank.empty()) return;
  const Bank& bank = *in.find_bank(first.bank);
  const std::size_t all = static_cast<std::size_t>(bank.experts) * bank.parts.size();
  require(
      jobs.size() == all, Errc::kInvalid,
      "the recipe quantizes {} of the {} weights in {}, {} the first: they stand in one tensor, so it is all or none",
      jobs.size(), all, bank.name, first.name);
}

WrittenModel declared_model(const Checkpoint& in, const std::vector<Job>& jobs) {
  std::vector<WrittenModule> quantized;
  for (const Job& job : jobs) {
    const bool dynamic = format_family(job.spelled.format) == "FP8";
    quantized.push_back({job.module->name, job.spelled.format,
                         dynamic ? ActivationScheme::kDynamic : ActivationScheme::kNone, job.spelled.extent});
  }
  return written_model(in, std::move(quantized), CacheScales::kAbsent);
}

// The maximum of magnitudes of rows [row, ...) of a dense matrix. Throws kInvalid at the first number that is not
// finite.
float finite_amax(Stream& stream, const Tensor& x, const Module& m, std::int64_t row) {
  const float amax = observe(stream, x).tensor;
  if (is_finite(amax)) return amax;
  const std::int64_t cols = x.extent().cols;
  std::int64_t i = 0;
  while (i + 1 < x.count() && is_finite(element_as_float(x, i))) ++i;
  const std::string name = m.bank.empty() ? m.codes->name : m.name;
  Error error(Errc::kInvalid, fmt::format("{}[{}, {}] is {}: a weight that is not finite cannot be quantized", name,
                                          row + i / cols, i % cols, element_as_float(x, i)));
  error.in_tensor(m.codes->name);
  throw error;
}

// One maximum for the group: the writer's global comes from it.
void observe_group(Stream& stream, const Checkpoint& in, std::vector<Job>& jobs, const Group& group, bool hold,
                   Progress& progress) {
  std::uint64_t bytes = 0;
  for (const std::size_t i : group) bytes += jobs[i].bytes();
  float largest = 0;
  for (const std::size_t i : group) {
    Job& job = jobs[i];
    if (!job.needs_amax()) continue;
    if (hold && bytes <= kHeldBytes) {
      job.held = in.load_dense_rows(*job.module, 0, job.spelled.extent.rows);
      job.amax = finite_amax(stream, job.held, *job.module, 0);
    } else {
      job.amax = dense_amax(stream, in, *job.module);
    }
    progress.add(job.bytes());
    if (job.spelled.format.has_global) largest = larger_maximum(largest, job.amax);
  }
  for (const std::size_t i : group)
    if (jobs[i].spelled.format.has_global) jobs[i].amax = largest;
}

// The global, and what becomes of a weight that is all zero: some exporters write scales of NaN for it, which no reader
// takes.
void resolve_global(Job& job) {
  const Format& f = job.spelled.format;
  const DType source = job.source().dtype;
  if (job.needs_amax() && job.amax == 0) {
    const float g = job.writer->global(f, 0, source);
    const ScaleChoice<float> s = job.writer->scale(f, {.amax = 0, .global = g, .source = source}, 0);
    const float scale = decode_scale_bits<float>(f, s.bits);
    if (!is_finite(g) || g <= 0 || !is_finite(scale) || scale <= 0) {
      job.warning = {"zero_weight", job.source().name,
                     fmt::format("{} is all zero, for which writer '{}' gives scales that no reader takes; it is "
                                 "written by 'nearest'",
                                 job.source().name, job.writer->name)};
      job.writer = &find_writer("nearest");
    }
  }
  if (f.has_global) job.global = {job.writer->global(f, job.amax, source), job.writer->sense};
}

// Some exporters divide by the zero maximum of a block of zeros and store NaN. Such blocks get the scale 1 and codes of
// 0: what they hold is 0, and readers take it. True where there were any.
bool mend_zero_blocks(QuantizedTensor& q) {
  if (q.format.scale != kE8M23) return false;
  const Extent grid = scale_extent(q.format, q.extent);
  const Block block = block_in(q.format, q.extent);
  bool mended = false;
  for (std::int64_t i = 0; i < grid.count(); ++i) {
    float& scale = q.scales.as<float>()[i];
    if (scale != 0) continue;
    mended = true;
    scale = 1;
    const std::int64_t row = i / grid.cols * block.rows, col = i % grid.cols * block.cols;
    for (std::int64_t r = row; r < std::min(row + block.rows, q.extent.rows); ++r)
      std::fill_n(q.codes.as<std::uint8_t>() + r * q.extent.cols + col, std::min(block.cols, q.extent.cols - col),
                  std::uint8_t{0});
  }
  return mended;
}

// Whether the original of a global travels in the files' metadata, which stand before the first byte of a weight: then
// every maximum comes before the files are made.
bool keeps_originals(const std::vector<Job>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(), [](const Job& job) {
    return job.spelled.format.has_global && job.spelled.spelling->sense != job.writer->sense;
  });
}

void keep_originals(const std::vector<Job>& jobs, ModelPlan& plan) {
  for (const Job& job : jobs)
    if (job.spelled.format.has_global && job.spelled.spelling->sense != job.global.sense)
      plan.globals.keep(job.spelled.global_name(), job.global);
}

void quantize_module(Stream& stream, const Checkpoint& in, Job& job, const RandomKey& key, ShardedWriter& writer,
                     Progress& progress) {
  const StoredTensor& source = job.source();
  const Spelled& p = job.spelled;
  const OperandSpec spec{p.format, job.writer};
  const std::string stream_name = job.module->bank.empty() ? source.name : job.module->name + ".weight";
  const std::int64_t step = stripe_rows(p.format, p.extent, dtype_bits(source.dtype), p.row_granule());
  for (std::int64_t row = 0; row < p.extent.rows; row += step) {
    const std::int64_t end = std::min(row + step, p.extent.rows);
    QuantizeContext where{
        .whole = p.extent, .row = row, .maxima = Maxima{job.amax}, .key = {key.seed, hash_name(stream_name)}};
    if (p.format.block.rows == 0) where.maxima->blocks = {job.amax};
    try {
      const Tensor x = job.held.bytes() > 0 ? job.held.slice(row, end) : in.load_dense_rows(*job.module, row, end);
      QuantizedTensor q = quantize(stream, x, spec, where);
      if (mend_zero_blocks(q) && !job.warning)
        job.warning = {"zero_blocks", source.name,
                       fmt::format("{} has blocks that are all zero, for which writer '{}' gives scales that no reader "
                                   "takes; their scale is 1",
                                   source.name, job.writer->name)};
      write_rows(writer, p, q, row);
      if (row == 0 && p.format.has_global) write_global(writer, p, across_sense(job.global, p.spelling->sense));
    } catch (Error& e) {
      e.in_tensor(source.name).add_note(fmt::format("quantizing {} (rows {} to {})", source.name, row, end));
      throw;
    }
    progress.add(static_cast<std::uint64_t>((end - row) * p.extent.cols * dtype_bits(source.dtype) / 8));
  }
}

}  // namespace

float dense_amax(Stream& stream, const Checkpoint& in, const Module& m) {
  const Extent extent = m.reading.extent;
  const std::int64_t step = stripe_rows(Format{.block = {1, 1}}, extent, dtype_bits(m.codes->dtype));
  float largest = 0;
  for (std::int64_t row = 0; row < extent.rows; row += step) {
    const Tensor x = in.load_dense_rows(m, row, std::min(row + step, extent.rows));
    largest = larger_maximum(largest, finite_amax(stream, x, m, row));
  }
  return largest;
}

QuantizeReport quantize_checkpoint(Stream& stream, const Checkpoint& in, const std::string& out,
                                   const QuantizeOptions& options) {
  require(stream.device().is_cpu(), Errc::kUnsupported, "quantize works on the CPU: files are read and written there");
  require(in.container().kind() != Container::Kind::kGguf, Errc::kInvalid,
          "{} is a GGUF file: `tessera dequantize` makes a folder of it, which can be quantized",
          in.container().path());
  require_written(*options.dialect);
  in.require_usable();
  require_dense(in);
  QuantizeReport report;
  std::vector<Job> jobs = plan_jobs(in, options, report);
  require(!jobs.empty(), Errc::kInvalid, "the recipe quantizes none of the {} weights of {}", in.modules().size(),
          in.container().path());
  ModelPlan plan{.tensors = {}, .config = in.config(), .globals = {}};
  erase_declarations(plan.config);
  std::map<const StoredTensor*, std::vector<const Job*>> jobs_of;  // a bank's are many
  ExpertBiases biases;
  for (const Job& job : jobs) {
    jobs_of[job.module->codes].push_back(&job);
    biases.add(in, *job.module, job.spelled);
  }
  plan.tensors = biases.planned();
  std::uint64_t work = 0;
  std::vector<const StoredTensor*> copied;
  for (const StoredTensor& t : in.container().tensors()) {
    const auto it = jobs_of.find(&t);
    report.bytes_before += t.bytes;
    work += t.bytes;
    if (it == jobs_of.end()) {
      if (biases.moves(t)) continue;
      copied.push_back(&t);
      plan.tensors.push_back({t.name, t.dtype, t.shape, in.place(t).module});
      continue;
    }
    require_whole_bank(in, it->second);
    for (const Job* job : it->second) {
      for (PlannedTensor& p : planned_tensors(job->spelled)) plan.tensors.push_back(std::move(p));
      if (job->needs_amax()) work += job->bytes();
      report.quantized.push_back({job->module->name, format_label(job->spelled.format), std::string(job->writer->name),
                                  job->spelled.extent, job->bytes(), stored_bytes(job->spelled)});
    }
  }
  for (const PlannedTensor& p : plan.tensors) report.bytes_after += planned_bytes(p);
  WrittenModel declared = declared_model(in, jobs);
  for (const StoredTensor* t : copied) declared.plain.push_back(t->name);
  for (const PlannedTensor& bias : biases.planned()) declared.plain.push_back(bias.name);
  declare(*options.dialect, declared, plan.config);
  Progress progress("quantizing", work, options.show_progress ? ProgressMode::kAuto : ProgressMode::kNever,
                    options.check);
  std::vector<std::string> names;
  for (const Job& job : jobs) names.push_back(job.module->name);
  const std::vector<Group> groups = fusion_groups(names, *options.dialect);
  const auto observe_and_resolve = [&](Stream& own, const Group& group, bool hold) {
    observe_group(own, in, jobs, group, hold, progress);
    for (const std::size_t i : group) resolve_global(jobs[i]);
  };
  const auto one_thread = [&] {
    Stream own(kCpu, 1);
    own.set_cpu_tier(stream.cpu_tier());
    return own;
  };
  const bool maxima_first = keeps_originals(jobs);
  if (maxima_first) {
    run_jobs(stream.pool(), groups.size(), [&](std::size_t g) {
      Stream own = one_thread();
      observe_and_resolve(own, groups[g], false);
    });
    keep_originals(jobs, plan);
  }
  ModelOutput output(in, out, std::move(plan));
  biases.write(in, output.writer());
  run_jobs(stream.pool(), groups.size() + copied.size(), [&](std::size_t g) {
    if (g >= groups.size()) {
      const StoredTensor& t = *copied[g - groups.size()];
      return copy_tensor(in.container(), t, t.name, output.writer(), progress);
    }
    Stream own = one_thread();
    if (!maxima_first) observe_and_resolve(own, groups[g], true);
    for (const std::size_t i : groups[g]) {
      quantize_module(own, in, jobs[i], options.key, output.writer(), progress);
      jobs[i].held = Tensor();
    }
  });
  for (Job& job : jobs)
    if (job.warning) report.warnings.push_back(std::move(*job.warning));
  output.commit();
  return report;
}

}  // namespace tessera
