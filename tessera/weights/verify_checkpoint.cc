#include "tessera/weights/verify_checkpoint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/io/module_names.h"
#include "tessera/kernels/quantize.h"
#include "tessera/weights/fusion.h"
#include "tessera/weights/model_output.h"
#include "tessera/weights/quantize_checkpoint.h"

namespace tessera {
namespace {

// Rounding up or down at random leaves twice the error of nearest rounding (the mean square of a uniform error is 1/3
// of a step against 1/12), and no choice of scale that keeps a block's maximum adds as much as another half: 2.5
// separates learned rounding and searched scales from weights that were never derived from the original.
constexpr double kRoundingRatio = 2.5;

// The same within one run of elements that share a scale, where a wrong scale shows: one that is halved loses about
// half of the run's norm (0.45 to 0.55 with the tenth that rounding loses). Rounding up or down at random errs by half
// a step at most, in the root mean square: of E2M1, 1 at the largest code and 1/4 at the others of a run of 16 whose
// maximum is between 4 and 6, sqrt(1 + 15/16) / 5 = 0.28 of its norm.
constexpr double kWrongScale = 0.4;

struct Errors {
  double largest = 0, squares = 0, reference = 0;
  double relative() const { return reference > 0 ? std::sqrt(squares / reference) : squares > 0 ? INFINITY : 0; }
  void operator+=(const Errors& other) {
    largest = std::max(largest, other.largest);
    squares += other.squares;
    reference += other.reference;
  }
};

// Of elements [begin, begin + count); decoded: F32.
Errors errors_of(const Tensor& decoded, const Tensor& original, std::int64_t begin, std::int64_t count) {
  thread_local std::vector<float> values;
  values.resize(static_cast<std::size_t>(count));
  read_floats(original, begin, values);
  Errors errors;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(values[static_cast<std::size_t>(i)]),
                 d = static_cast<double>(decoded.as<float>()[begin + i]) - x;
    errors.largest = std::max(errors.largest, std::isnan(d) ? INFINITY : std::fabs(d));
    errors.squares += d * d;
    errors.reference += x * x;
  }
  return errors;
}

// Calls fn(first element, count) for each run of a row that shares one scale.
template <class Fn>
void for_runs(const Format& format, Extent extent, const Fn& fn) {
  const std::int64_t cols = format.block.cols == 0 ? extent.cols : format.block.cols;
  for (std::int64_t row = 0; row < extent.rows; ++row)
    for (std::int64_t col = 0; col < extent.cols; col += cols)
      fn(row * extent.cols + col, std::min(cols, extent.cols - col));
}

std::string hex(std::uint32_t value, int digits) { return fmt::format("{:0{}x}", value, digits); }

// The first place where what is stored is not what the writer gives; nothing where all is equal. Zeros are equal by
// value.
std::optional<FirstDifference> compare(const QuantizedTensor& found, const QuantizedTensor& expected) {
  if (found.format.has_global) {
    const float f = across_sense({found.global.as<float>()[0], found.sense}, expected.sense),
                e = expected.global.as<float>()[0];
    if (std::bit_cast<std::uint32_t>(f) != std::bit_cast<std::uint32_t>(e))
      return FirstDifference{"global", 0, fmt::format("{}", e), fmt::format("{}", f)};
  }
  for (std::int64_t i = 0; i < found.scales.count(); ++i) {
    const bool wide = found.scales.dtype() == DType::kF32;
    if (wide && found.scales.as<float>()[i] != expected.scales.as<float>()[i])
      return FirstDifference{"scales", i, fmt::format("{}", expected.scales.as<float>()[i]),
                             fmt::format("{}", found.scales.as<float>()[i])};
    if (!wide && found.scales.as<std::uint8_t>()[i] != expected.scales.as<std::uint8_t>()[i])
      return FirstDifference{"scales", i, hex(expected.scales.as<std::uint8_t>()[i], 2),
                             hex(found.scales.as<std::uint8_t>()[i], 2)};
  }
  if (std::memcmp(found.codes.data(), expected.codes.data(), found.codes.bytes()) == 0) return {};
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(found.codes.bytes()); ++i) {
    const std::uint8_t f = found.codes.as<std::uint8_t>()[i], e = expected.codes.as<std::uint8_t>()[i];
    if (f != e) return FirstDifference{"codes", i, hex(e, 2), hex(f, 2)};
  }
  return {};
}

// Codes on a line: ..., -1, 0 (both zeros), 1, ...; neighbours are one step apart.
std::int64_t position(std::uint32_t code, std::uint32_t sign) {
  return (code & sign) != 0 ? -static_cast<std::int64_t>(code & ~sign) : code;
}

bool within_one_step(const QuantizedTensor& a, const QuantizedTensor& b) {
  const Element& element = a.format.element;
  const std::int64_t width = row_bytes(a.format, a.extent.cols);
  for (std::int64_t r = 0; r < a.extent.rows; ++r) {
    const std::uint8_t *x = a.codes.as<std::uint8_t>() + r * width, *y = b.codes.as<std::uint8_t>() + r * width;
    if (std::equal(x, x + width, y)) continue;
    for (std::int64_t c = 0; c < a.extent.cols; ++c) {
      const std::int64_t step = position(load_code(x, element.bits(), c), element.sign_bit()) -
                                position(load_code(y, element.bits(), c), element.sign_bit());
      if (std::abs(step) > 1) return false;
    }
  }
  return true;
}

// Transformations that a configuration or a tensor beside the weight declares.
bool declares_transform(const Checkpoint& model, const Module& m) {
  if (m.companion != nullptr) return true;
  const Json* q = model.config().quantization();
  const Json* transforms = q != nullptr ? q->find("transform_config") : nullptr;
  return transforms != nullptr && transforms->is_object() && !transforms->as_object().empty();
}

class Verifier final {
 public:
  Verifier(const Checkpoint& model, const Checkpoint& original, const VerifyOptions& options)
      : model_(model), original_(original), options_(options) {}

  // Maxima of the fusion groups as the module's own dialect makes them.
  void observe(Stream& stream, std::span<const Module* const> modules, Progress& progress) {
    amax_.resize(modules.size());
    run_jobs(stream.pool(), modules.size(), [&](std::size_t i) {
      Stream own(kCpu, 1);
      own.set_cpu_tier(stream.cpu_tier());
      const Module& weight = original_of(*modules[i]);
      amax_[i] = dense_amax(own, original_, weight);
      progress.add(weight.bytes());
    });
    alone_ = amax_;
    elsewhere_.resize(modules.size());
    std::vector<std::string> names;
    for (const Module* m : modules) names.push_back(m->name);
    for (const Dialect* dialect : all_dialects()) {
      for (const std::vector<std::size_t>& group : fusion_groups(names, *dialect)) {
        float largest = 0;
        for (const std::size_t i : group) largest = larger_maximum(largest, alone_[i]);
        for (const std::size_t i : group) {
          if (modules[i]->reading.dialect == dialect) amax_[i] = largest;
          elsewhere_[i].insert(largest);  // it may have been converted from that dialect
        }
      }
    }
    // The experts of a bank that has one global.
    std::map<const StoredTensor*, float> shared;
    const auto shares = [&](std::size_t i) {
      return !modules[i]->bank.empty() && modules[i]->global_tensor != nullptr &&
             modules[i]->global_tensor->elements() == 1;
    };
    for (std::size_t i = 0; i < modules.size(); ++i)
      if (shares(i)) {
        float& largest = shared[modules[i]->global_tensor];
        largest = larger_maximum(largest, alone_[i]);
      }
    for (std::size_t i = 0; i < modules.size(); ++i)
      if (shares(i)) amax_[i] = shared[modules[i]->global_tensor];
  }

  ModuleVerdict judge(Stream& stream, const Module& m, std::size_t index) const {
    std::vector<Candidate> candidates;
    // The maximum of its dialect's fusion group first; then the weight's own, for exporters that do not group; then
    // those of other dialects' groups.
    std::vector<float> maxima{amax_[index]};
    if (alone_[index] != amax_[index]) maxima.push_back(alone_[index]);
    for (const float amax : elsewhere_[index])
      if (std::find(maxima.begin(), maxima.end(), amax) == maxima.end()) maxima.push_back(amax);
    for (const float amax : maxima)
      for (const Writer* writer : writers_for(m)) candidates.push_back({writer, amax});
    Errors errors;
    for_stripes(m, [&](std::int64_t row, const Tensor& x) {
      const QuantizedTensor found = model_.load_rows(m, row, row + x.extent().rows);
      errors += errors_of(dequantize(stream, found), x, 0, x.count());
      for (Candidate& c : candidates)
        if (c.scales_equal) compare_stripe(stream, m, row, x, found, c);
    });
    ModuleVerdict v{.name = m.name,
                    .format = format_label(m.reading.format),
                    .max_abs_error = errors.largest,
                    .relative_error = errors.relative(),
                    .verdict = Verdict::kWrong,
                    .writer = {}};
    const Candidate& best =
        *std::min_element(candidates.begin(), candidates.end(),
                          [](const Candidate& a, const Candidate& b) { return a.distance() < b.distance(); });
    v.writer = best.writer->name;
    v.first_difference = best.first_difference;
    v.bits_equal = !best.first_difference.has_value();
    v.verdict = *v.bits_equal ? Verdict::kExact : best.scales_equal ? Verdict::kScalesExact : Verdict::kWrong;
    if (v.verdict == Verdict::kWrong &&
        (declares_transform(model_, m) || errs_as_rounding_does(stream, m, amax_[index])))
      v.verdict = Verdict::kTransformed;
    return v;
  }

  const Module& original_of(const Module& m) const {
    const Module* dense = original_.find(m.name);
    if (dense == nullptr &&
        module_kind(m.name) == ModuleKind::kHead) {  // a head that the original ties to its embedding
      for (const Module& other : original_.modules())
        if (other.name.ends_with("embed_tokens")) dense = &other;
    }
    require(dense != nullptr && !dense->is_quantized(), Errc::kNotFound,
            "{} has no dense weight {}.weight to verify against", original_.container().path(), m.name);
    const Extent e = m.reading.extent, found = dense->reading.extent;
    require(dense->is_matrix() && found == e, Errc::kShape, "{} is {} x {} in {}, and {} x {} here",
            dense->bank.empty() ? m.name + ".weight" : m.name, found.rows, found.cols, original_.container().path(),
            e.rows, e.cols);
    return *dense;
  }

 private:
  // A rule and a maximum that may have made the module, and how far they hold.
  struct Candidate {
    const Writer* writer = nullptr;
    float amax = 0;
    bool scales_equal = true;  // so far: global and block scales equal, codes within one step
    std::optional<FirstDifference> first_difference{};
    int distance() const { return !first_difference ? 0 : scales_equal ? 1 : 2; }
  };

  // The dialect's own writer first: then its name is the answer.
  std::vector<const Writer*> writers_for(const Module& m) const {
    if (options_.writer != nullptr) return {options_.writer};
    std::vector<const Writer*> list;
    if (!m.reading.dialect->writer.empty()) list.push_back(&find_writer(m.reading.dialect->writer));
    for (const Writer* w : all_writers())
      if (std::find(list.begin(), list.end(), w) == list.end() && !w->encode(m.reading.format, DType::kF32).stochastic)
        list.push_back(w);
    const Block b = block_in(m.reading.format, m.reading.extent);
    const bool whole = m.reading.extent.rows % b.rows == 0 && m.reading.extent.cols % b.cols == 0;
    std::erase_if(list,
                  [&](const Writer* w) { return !w->supports(m.reading.format) || (w->whole_blocks_only && !whole); });
    return list;
  }

  // Calls fn(row, rows of the original) down the module, in stripes.
  template <class Fn>
  void for_stripes(const Module& m, const Fn& fn) const {
    const Module& source = original_of(m);
    const Extent extent = m.reading.extent;
    const std::int64_t step = stripe_rows(m.reading.format, extent, 32);
    for (std::int64_t row = 0; row < extent.rows; row += step)
      fn(row, original_.load_dense_rows(source, row, std::min(row + step, extent.rows)));
  }

  QuantizedTensor quantize_stripe(Stream& stream, const Module& m, std::int64_t row, const Tensor& x,
                                  const Writer* writer, float amax) const {
    QuantizeContext where{.whole = m.reading.extent, .row = row, .maxima = Maxima{amax}};
    if (m.reading.format.block.rows == 0) where.maxima->blocks = {amax};
    return quantize(stream, x, {m.reading.format, writer}, where);
  }

  void compare_stripe(Stream& stream, const Module& m, std::int64_t row, const Tensor& x, const QuantizedTensor& found,
                      Candidate& c) const {
    const QuantizedTensor expected = quantize_stripe(stream, m, row, x, c.writer, c.amax);
    std::optional<FirstDifference> difference = compare(found, expected);
    if (!difference) return;
    c.scales_equal = difference->part == "codes" && within_one_step(found, expected);
    if (c.first_difference) return;
    const Block block = block_in(m.reading.format, m.reading.extent);
    if (difference->part == "codes") difference->index += row * row_bytes(m.reading.format, m.reading.extent.cols);
    if (difference->part == "scales")
      difference->index += row / block.rows * scale_extent(m.reading.format, m.reading.extent).cols;
    c.first_difference = std::move(difference);
  }

  // Whether the weight is as near the original as some rounding of it: as a whole, and in each run that shares a scale.
  bool errs_as_rounding_does(Stream& stream, const Module& m, float amax) const {
    Errors found, nearest;
    bool every_run = true;
    for_stripes(m, [&](std::int64_t row, const Tensor& x) {
      if (!every_run) return;
      const Tensor a = dequantize(stream, model_.load_rows(m, row, row + x.extent().rows)),
                   b = dequantize(stream, quantize_stripe(stream, m, row, x, nullptr, amax));
      for_runs(m.reading.format, x.extent(), [&](std::int64_t begin, std::int64_t count) {
        const Errors f = errors_of(a, x, begin, count), n = errors_of(b, x, begin, count);
        every_run = every_run && !(f.relative() > kWrongScale && f.relative() > kRoundingRatio * n.relative());
        found += f;
        nearest += n;
      });
    });
    return every_run && found.relative() <= kRoundingRatio * nearest.relative();
  }

  const Checkpoint& model_;
  const Checkpoint& original_;
  const VerifyOptions& options_;
  std::vector<float> amax_, alone_;
  std::vector<std::set<float>> elsewhere_;
};

// Every block scale of the module, in stripes.
void check_scales(const Checkpoint& model, const Module& m, std::vector<Problem>& problems) {
  try {
    const std::int64_t step = stripe_rows(m.reading.format, m.reading.extent, m.reading.format.element.bits());
    for (std::int64_t row = 0; row < m.reading.extent.rows; row += step)
      model.load_rows(m, row, std::min(row + step, m.reading.extent.rows));
  } catch (const Error& e) {
    if (e.code() != Errc::kCorrupt) throw;
    problems.push_back({"bad_scale", Errc::kCorrupt, e.tensor().empty() ? m.name : e.tensor(), e.message()});
  }
}

// Whether a problem of the checkpoint is this module's: its numbers then mean nothing.
bool is_broken(const Checkpoint& model, const Module& m) {
  return std::any_of(model.problems().begin(), model.problems().end(),
                     [&](const Problem& p) { return !p.harmless && p.tensor.starts_with(m.name + "."); });
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  return std::array{"exact", "scales_exact", "transformed", "wrong"}[static_cast<std::size_t>(verdict)];
}

VerifyReport verify_checkpoint(Stream& stream, const Checkpoint& model, const Checkpoint* original,
                               const VerifyOptions& options) {
  VerifyReport report;
  report.problems.assign(model.problems().begin(), model.problems().end());
  std::vector<const Module*> modules;
  std::uint64_t work = 0;
  for (const Module& m : model.modules()) {
    if (!m.is_quantized() || !m.reading.complaints.empty()) continue;
    modules.push_back(&m);
    work += m.bytes();
  }
  std::vector<std::vector<Problem>> found(modules.size());
  Progress progress("verifying", original != nullptr ? work * 9 : work,
                    options.show_progress ? ProgressMode::kAuto : ProgressMode::kNever, options.check);
  run_jobs(stream.pool(), modules.size(), [&](std::size_t i) {
    check_scales(model, *modules[i], found[i]);
    progress.add(modules[i]->bytes());
  });
  for (std::vector<Problem>& list : found) std::move(list.begin(), list.end(), std::back_inserter(report.problems));
  report.checked = modules.size();
  report.holds =
      std::none_of(report.problems.begin(), report.problems.end(), [](const Problem& p) { return !p.harmless; });
  if (original == nullptr) return report;
  require(!modules.empty() || !report.holds, Errc::kInvalid, "{} holds no quantized weights to verify",
          model.container().path());
  Verifier verifier(model, *original, options);
  for (const Module* m : modules) verifier.original_of(*m);  // all there, before any long work
  verifier.observe(stream, modules, progress);
  report.modules.resize(modules.size());
  run_jobs(stream.pool(), modules.size(), [&](std::size_t i) {
    if (!found[i].empty() || is_broken(model, *modules[i])) {
      report.modules[i] = {.name = modules[i]->name,
                           .format = format_label(modules[i]->reading.format),
                           .verdict = Verdict::kWrong,
                           .writer = {}};
      return;
    }
    Stream own(kCpu, 1);
    own.set_cpu_tier(stream.cpu_tier());
    report.modules[i] = verifier.judge(own, *modules[i], i);
    progress.add(modules[i]->bytes() * 4);
  });
  for (const ModuleVerdict& v : report.modules)
    report.holds =
        report.holds && (options.writer != nullptr ? v.verdict == Verdict::kExact : v.verdict != Verdict::kWrong);
  return report;
}

}  // namespace tessera
