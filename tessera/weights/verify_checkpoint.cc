#include "tessera/weights/verify_checkpoint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

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

struct Errors {
  double largest = 0, squares = 0, reference = 0;
  double relative() const { return reference > 0 ? std::sqrt(squares / reference) : squares > 0 ? INFINITY : 0; }
};

Errors errors_of(const Tensor& decoded, const Tensor& original) {
  Errors e;
  for (std::int64_t i = 0; i < original.count(); ++i) {
    const double x = element_as_float(original, i), d = static_cast<double>(decoded.as<float>()[i]) - x;
    e.largest = std::max(e.largest, std::isnan(d) ? INFINITY : std::fabs(d));
    e.squares += d * d;
    e.reference += x * x;
  }
  return e;
}

std::string hex(std::uint32_t value, int digits) { return fmt::format("{:0{}x}", value, digits); }

// The first place where what is stored is not what the writer gives; nothing where all is equal. Zeros are equal by
// value.
std::optional<FirstDifference> compare(const QuantizedTensor& found, const QuantizedTensor& expected,
                                       bool compare_codes) {
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
  if (!compare_codes || std::memcmp(found.codes.data(), expected.codes.data(), found.codes.bytes()) == 0) return {};
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
  const std::uint32_t sign = a.format.element.sign_bit();
  const bool nibbles = a.format.element.bits() == 4;
  for (std::size_t i = 0; i < a.codes.bytes(); ++i) {
    const std::uint32_t x = a.codes.as<std::uint8_t>()[i], y = b.codes.as<std::uint8_t>()[i];
    if (x == y) continue;
    const bool near = nibbles ? std::abs(position(x & 15, sign) - position(y & 15, sign)) <= 1 &&
                                    std::abs(position(x >> 4, sign) - position(y >> 4, sign)) <= 1
                              : std::abs(position(x, sign) - position(y, sign)) <= 1;
    if (!near) return false;
  }
  return true;
}

// Transformations that a configuration or a tensor beside the weight declares.
bool declares_transform(const Checkpoint& model, const Module& m) {
  if (model.container().find(m.name + ".pre_quant_scale") != nullptr) return true;
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
      const StoredTensor& weight = original_of(*modules[i]);
      amax_[i] = stored_amax(own, original_.container(), weight);
      progress.add(weight.bytes);
    });
    alone_ = amax_;
    std::vector<std::string> names;
    for (const Module* m : modules) names.push_back(m->name);
    for (const Dialect* dialect : all_dialects()) {
      for (const std::vector<std::size_t>& group : fusion_groups(names, *dialect)) {
        float largest = 0;
        for (const std::size_t i : group)
          if (modules[i]->reading.dialect == dialect) largest = larger_maximum(largest, alone_[i]);
        for (const std::size_t i : group)
          if (modules[i]->reading.dialect == dialect) amax_[i] = largest;
      }
    }
  }

  ModuleVerdict judge(Stream& stream, const Module& m, std::size_t index) const {
    const StoredTensor& source = original_of(m);
    const Tensor x = read_stored_rows(original_.container(), source, 0, m.reading.extent.rows);
    const QuantizedTensor found = model_.load(m);
    const Errors errors = errors_of(dequantize(stream, found), x);
    ModuleVerdict v{.name = m.name,
                    .format = format_label(m.reading.format),
                    .max_abs_error = errors.largest,
                    .relative_error = errors.relative(),
                    .verdict = Verdict::kWrong,
                    .writer = {}};
    v.bits_equal = false;
    // The fusion group's maximum first; then the weight's own, for exporters that do not group.
    for (const float amax : {amax_[index], alone_[index]}) {
      for (const Writer* writer : candidates(m)) {
        const QuantizedTensor expected =
            quantize(stream, x, {m.reading.format, writer}, {.whole = m.reading.extent, .maxima = Maxima{amax}});
        consider(v, found, expected, *writer);
        if (v.verdict == Verdict::kExact) return v;
      }
    }
    if (v.verdict != Verdict::kWrong) return v;
    const Errors nearest = errors_of(dequantize(stream, quantize(stream, x, {m.reading.format, nullptr})), x);
    if (errors.relative() <= kRoundingRatio * nearest.relative() || declares_transform(model_, m))
      v.verdict = Verdict::kTransformed;
    return v;
  }

  const StoredTensor& original_of(const Module& m) const {
    const StoredTensor* t = original_.container().find(m.name + ".weight");
    const Module* dense = original_.find(m.name);
    if (t == nullptr && module_kind(m.name) == ModuleKind::kHead) {  // a head that the original ties to its embedding
      for (const Module& other : original_.modules())
        if (other.name.ends_with("embed_tokens")) t = (dense = &other)->codes;
    }
    require(t != nullptr && dense != nullptr && !dense->is_quantized(), Errc::kNotFound,
            "{} has no dense weight {}.weight to verify against", original_.container().path(), m.name);
    const Extent e = m.reading.extent;
    require(t->shape.size() == 2 && t->shape[0] == e.rows && t->shape[1] == e.cols, Errc::kShape,
            "{}.weight is [{}] in {}, and {} x {} here", m.name, fmt::join(t->shape, ", "),
            original_.container().path(), e.rows, e.cols);
    return *t;
  }

 private:
  // The dialect's own writer first: then its name is the answer.
  std::vector<const Writer*> candidates(const Module& m) const {
    if (options_.writer != nullptr) return {options_.writer};
    std::vector<const Writer*> list;
    if (!m.reading.dialect->writer.empty()) list.push_back(&find_writer(m.reading.dialect->writer));
    for (const Writer* w : all_writers())
      if (std::find(list.begin(), list.end(), w) == list.end() && !w->encode(m.reading.format, DType::kF32).stochastic)
        list.push_back(w);
    std::erase_if(list, [&](const Writer* w) {
      const Block b = block_in(m.reading.format, m.reading.extent);
      const bool whole = m.reading.extent.rows % b.rows == 0 && m.reading.extent.cols % b.cols == 0;
      return !w->supports(m.reading.format) || (w->whole_blocks_only && !whole);
    });
    return list;
  }

  static void consider(ModuleVerdict& v, const QuantizedTensor& found, const QuantizedTensor& expected,
                       const Writer& writer) {
    const std::optional<FirstDifference> difference = compare(found, expected, true);
    if (!difference) {
      v.verdict = Verdict::kExact;
      v.writer = writer.name;
      v.bits_equal = true;
      v.first_difference.reset();
      return;
    }
    const bool scales = difference->part == "codes";
    if (scales && v.verdict == Verdict::kWrong && within_one_step(found, expected)) {
      v.verdict = Verdict::kScalesExact;
      v.writer = writer.name;
      v.first_difference = difference;
    }
    if (!v.first_difference) {  // of the first candidate: the dialect's own writer
      v.first_difference = difference;
      v.writer = writer.name;
    }
  }

  const Checkpoint& model_;
  const Checkpoint& original_;
  const VerifyOptions& options_;
  std::vector<float> amax_, alone_;
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
    work += m.codes->bytes;
  }
  const bool broken =
      std::any_of(report.problems.begin(), report.problems.end(), [](const Problem& p) { return !p.harmless; });
  std::vector<std::vector<Problem>> found(modules.size());
  Progress progress("verifying", original != nullptr ? work * 9 : work,
                    options.show_progress ? ProgressMode::kAuto : ProgressMode::kNever, options.check);
  run_jobs(stream.pool(), modules.size(), [&](std::size_t i) {
    check_scales(model, *modules[i], found[i]);
    progress.add(modules[i]->codes->bytes);
  });
  for (std::vector<Problem>& list : found) std::move(list.begin(), list.end(), std::back_inserter(report.problems));
  report.checked = modules.size();
  report.holds =
      std::none_of(report.problems.begin(), report.problems.end(), [](const Problem& p) { return !p.harmless; });
  if (original == nullptr || broken) return report;
  require(!modules.empty(), Errc::kInvalid, "{} holds no quantized weights to verify", model.container().path());
  Verifier verifier(model, *original, options);
  for (const Module* m : modules) verifier.original_of(*m);  // all there, before any long work
  verifier.observe(stream, modules, progress);
  report.modules.resize(modules.size());
  run_jobs(stream.pool(), modules.size(), [&](std::size_t i) {
    if (!found[i].empty()) {
      report.modules[i] = {.name = modules[i]->name,
                           .format = format_label(modules[i]->reading.format),
                           .verdict = Verdict::kWrong,
                           .writer = {}};
      return;
    }
    Stream own(kCpu, 1);
    own.set_cpu_tier(stream.cpu_tier());
    report.modules[i] = verifier.judge(own, *modules[i], i);
    progress.add(modules[i]->codes->bytes * 4);
  });
  for (const ModuleVerdict& v : report.modules)
    report.holds =
        report.holds && (options.writer != nullptr ? v.verdict == Verdict::kExact : v.verdict != Verdict::kWrong);
  return report;
}

}  // namespace tessera
