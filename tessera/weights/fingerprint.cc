#include "tessera/weights/fingerprint.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "tessera/weights/sample.h"
#include "tessera_registry/fingerprints.inc"

namespace tessera {
namespace {

bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t space = words.find(' ');
    if (words.substr(0, space) == word) return true;
    words = space == std::string_view::npos ? "" : words.substr(space + 1);
  }
  return false;
}

// Codes of one block, magnitudes only.
struct BlockCodes {
  std::uint8_t largest = 0;
  bool plus_zero = false, minus_zero = false;
  void add(std::uint32_t code, std::uint32_t sign) {
    const std::uint32_t magnitude = code & (sign - 1);
    largest = std::max(largest, static_cast<std::uint8_t>(magnitude));
    if (magnitude != 0) return;
    ((code & sign) != 0 ? minus_zero : plus_zero) = true;
  }
};
BlockCodes codes_of(const QuantizedTensor& q, std::int64_t row, std::int64_t begin, std::int64_t end) {
  BlockCodes block;
  const std::uint8_t* codes = q.codes.as<std::uint8_t>() + row * row_bytes(q.format, q.extent.cols);
  const Element& element = q.format.element;
  for (std::int64_t i = begin; i < end; ++i) block.add(load_code(codes, element.bits(), i), element.sign_bit());
  return block;
}

bool is_nan_scale(const Format& format, std::uint8_t byte) { return is_nan(decode(format.scale, byte)); }

// Globals that dividing two BF16 numbers leaves with 8 digits by chance are one in twenty (2688 is 2^7 times 21).
constexpr std::size_t kTellingGlobals = 3;

std::uint32_t low_bits(DType source) { return source == DType::kBf16 ? 0xffffu : source == DType::kF16 ? 0x1fffu : 0u; }

bool has_digits_of_weights(const Traits& t) {
  const std::uint32_t low = low_bits(t.source.value_or(DType::kF32));
  return std::all_of(t.globals.begin(), t.globals.end(), [&](std::uint32_t g) { return (g & low) == 0; });
}

// The globals that exporters give to weights of zeros; under others, rows of zeros are part of a weight that is not, or
// of a group that is not.
bool is_of_zeros(float global) { return global == 0.f || global == 1.f || global == 0x1p-23f || !is_finite(global); }

// Whether all bytes that were seen are in the ranges.
bool within(const std::array<bool, 256>& seen, std::span<const ByteRange> ranges) {
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i] && std::none_of(ranges.begin(), ranges.end(),
                                [&](const ByteRange& r) { return r.has(static_cast<std::uint8_t>(i)); }))
      return false;
  return true;
}

bool fits(const Signature& s, const Traits& t) {
  if (!lists(s.families, t.family)) return false;
  if (!s.zero_blocks.empty() && !within(t.zero_blocks, s.zero_blocks)) return false;
  if (!within(t.others, std::span(&s.others, 1)) || !within(t.largest, std::span(&s.largest, 1))) return false;
  if (s.minus_zero == MinusZero::kNever && t.minus_zero) return false;
  if (s.minus_zero == MinusZero::kInZeroBlocks && t.zeros_with_plus) return false;
  if (s.digits == Digits::kOfWeights && !has_digits_of_weights(t)) return false;
  if (s.digits == Digits::kAll && t.globals.size() >= kTellingGlobals && t.source && low_bits(*t.source) != 0 &&
      has_digits_of_weights(t))
    return false;
  if (s.zero_weight && !std::all_of(t.zero_weights.begin(), t.zero_weights.end(),
                                    [&](const ZeroWeight& z) { return z == *s.zero_weight; }))
    return false;
  return s.scale_dtypes.empty() || std::all_of(t.scale_dtypes.begin(), t.scale_dtypes.end(),
                                               [&](DType d) { return lists(s.scale_dtypes, dtype_name(d)); });
}

std::string bytes_text(const std::array<bool, 256>& seen) {
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < seen.size() && shown < 6; ++i) {
    if (!seen[i]) continue;
    text += fmt::format("{}0x{:02X}", text.empty() ? "" : ", ", i);
    ++shown;
  }
  return text;
}

constexpr std::ptrdiff_t kFourOverSix = 0x78;  // 256 in E4M3, the largest scale of that mode

// What of the traits the signature names: why the exporter is one of those left.
void add_evidence(const Signature& s, const Traits& t, std::vector<std::string>& evidence) {
  const auto add = [&](std::string text) {
    text = t.family + ": " + std::move(text);
    if (std::find(evidence.begin(), evidence.end(), text) == evidence.end()) evidence.push_back(std::move(text));
  };
  if (!s.zero_blocks.empty() && t.zero_block_count > 0)
    add(fmt::format("{} blocks of zeros have the scale {}", t.zero_block_count, bytes_text(t.zero_blocks)));
  const auto extremes = [](const std::array<bool, 256>& seen) {
    const auto first = std::find(seen.begin(), seen.end(), true);
    const auto last = std::find(seen.rbegin(), seen.rend(), true);
    return std::pair(first - seen.begin(), seen.rend() - last - 1);
  };
  if (t.block_count > 0) {
    const auto [least, most] = extremes(t.others);
    if (least <= most)
      add(fmt::format("scales of {} other blocks are 0x{:02X} to 0x{:02X}", t.block_count, least, most));
    if (t.family == "NVFP4" && most == kFourOverSix) add("the largest scale is 256: four over six");
    const auto [low, high] = extremes(t.largest);
    if (low <= high && (s.largest.first > 0 || s.largest.last < 255))
      add(fmt::format("the largest code of a block is {} to {}", low, high));
  }
  if (s.minus_zero == MinusZero::kNever && t.plus_zero) add("no code is -0");
  if (s.minus_zero == MinusZero::kInZeroBlocks && t.zero_block_count > 0) add("codes of zero blocks are all -0");
  if (s.minus_zero == MinusZero::kAny && t.minus_zero) add("codes of -0 occur");
  if (!t.globals.empty() && t.source && low_bits(*t.source) != 0 && s.digits != Digits::kAny)
    add(fmt::format("{} globals {} the digits of {}", t.globals.size(),
                    has_digits_of_weights(t) ? "have only" : "have more than", dtype_name(*t.source)));
  if (s.zero_weight && !t.zero_weights.empty())
    add(fmt::format("{} weights of zeros have the global {}{}", t.zero_weights.size(), t.zero_weights[0].global,
                    t.zero_weights[0].nan_scales ? " and NaN scales" : ""));
  if (!s.scale_dtypes.empty() && !t.scale_dtypes.empty())
    add(fmt::format("scales are {}", dtype_name(*t.scale_dtypes.begin())));
}

// Scales that are f32 in memory differ in their axes too.
bool has_shape(const Spelling& s, const Module& m) {
  if (m.scales == nullptr || m.reading.format.scale != kE8M23) return true;
  const std::size_t axes = m.scales->shape.size();
  switch (s.scale_shape) {
    case ScaleShape::kScalar:
      return axes == 0;
    case ScaleShape::kOne:
    case ScaleShape::kVector:
      return axes == 1;
    case ScaleShape::kSpacedGrid:
      return axes == 4 || axes == 0;
    case ScaleShape::kGrid:  // an axis of one block may be missing
      return m.reading.format.block.rows == 1 ? axes == 2 : axes > 0;
  }
  return true;
}

// Whether one of the exporter's dialects has these names for this family. Dialects that only a configuration tells
// apart are alike here.
bool spells(const Fingerprint& f, const Module& m) {
  const Spelling& own = *m.reading.spelling;
  return std::any_of(all_dialects().begin(), all_dialects().end(), [&](const Dialect* d) {
    if (!lists(f.dialects, d->name)) return false;
    // What claims a module knows it by notes and names that no other exporter writes.
    if ((d->only_claimed || m.reading.dialect->only_claimed) && d != m.reading.dialect) return false;
    return std::any_of(d->spellings.begin(), d->spellings.end(), [&](const Spelling& s) {
      const Format& format = m.reading.format;
      const bool square = s.format == "fp8_block*";
      if (square ? format_family(format) != "FP8" || format.block.rows <= 1
                 : format_family(find_format(s.format)) != format_family(format) ||
                       find_format(s.format).block != format.block)
        return false;
      return s.codes == own.codes && s.scales == own.scales && s.global == own.global && s.glued == own.glued &&
             s.high_nibble_first == own.high_nibble_first && lists(s.codes_dtypes, m.codes->type) &&
             (m.scales == nullptr || lists(s.scales_dtypes, m.scales->type)) && has_shape(s, m);
    });
  });
}

// The dtype that most of the model's unquantized matrices have.
std::optional<DType> dense_dtype(const Checkpoint& model) {
  std::map<DType, std::size_t> counts;
  for (const StoredTensor& t : model.container().tensors())
    if (model.place(t).role == Role::kDense && dtype_bits(t.dtype) >= 16) ++counts[t.dtype];
  std::optional<DType> most;
  for (const auto& [dtype, count] : counts)
    if (!most || count > counts[*most]) most = dtype;
  return most;
}

std::string names_of(const Module& m) {
  const Spelling& s = *m.reading.spelling;
  std::string text(s.codes.empty() ? "(the weight itself)" : s.codes);
  for (const std::string_view part : {s.scales, s.global})
    if (!part.empty()) text.append(", ").append(part);
  return text;
}

class Fingerprinter final {
 public:
  Fingerprinter(const Checkpoint& model, std::uint64_t most) : model_(model), most_(most) {}

  FingerprintReport run() {
    const std::optional<DType> source = dense_dtype(model_);
    for (const Module& m : model_.modules()) {
      if (!m.is_quantized() || !m.reading.complaints.empty()) continue;
      weights_.push_back(&m);
      const std::size_t axes = m.scales != nullptr ? m.scales->shape.size() : 0;
      kinds_.emplace(std::tuple(m.reading.spelling, m.codes->dtype, axes, format_label(m.reading.format)), &m);
      const std::string family(format_family(m.reading.format));
      Traits& t = traits_[family];
      t.family = family;
      t.source = source;
      if (m.reading.format.scale == kE8M23 && m.scales != nullptr) t.scale_dtypes.insert(m.scales->dtype);
      if (most_ == 0)
        add_headers(t, m);
      else
        sample_rows(model_, m, most_, [&](const QuantizedTensor& rows) { t.add(as_stored(m, rows)); });
    }
    attribute_weights();
    for (const Fix* fix : all_fixes()) add_fixable(*fix);
    for (const Attribution& a : report_.exporters)
      for (const ExporterFault& fault : a.exporter->faults) add_faults(fault, a.exporter->name);
    return std::move(report_);
  }

 private:
  // A global that is no number over zeros was read as 1; see Checkpoint.
  static QuantizedTensor as_stored(const Module& m, const QuantizedTensor& rows) {
    QuantizedTensor q = rows;
    if (m.global && m.global->bits == 1.f && m.global_in_file != 1.f) {
      q.global = Tensor(DType::kF32, {1});
      q.global.as<float>()[0] = m.global_in_file;
    }
    return q;
  }
  void add_headers(Traits& t, const Module& m) const {
    if (m.global && m.global->bits != 1.f) t.add_global(m.global->bits);
    if (m.global && m.global->bits == 1.f && m.global_in_file != 1.f)
      t.zero_weights.push_back({m.global_in_file, false});
  }

  void attribute_weights() {
    if (weights_.empty()) {
      const bool gguf = model_.container().kind() == Container::Kind::kGguf;
      for (const Fingerprint* f : all_fingerprints())
        if (gguf && lists(f->dialects, "gguf")) report_.exporters.push_back({f, "any", {"a GGUF file"}});
      return;
    }
    std::vector<Traits> traits;
    for (const auto& [family, t] : traits_) traits.push_back(t);
    std::vector<Attribution> all = attribute(traits), named;
    for (const Attribution& a : all)
      if (std::all_of(kinds_.begin(), kinds_.end(),
                      [&](const auto& kind) { return spells(*a.exporter, *kind.second); }))
        named.push_back(a);
    std::set<std::string> names;
    for (const auto& [kind, m] : kinds_) names.insert(names_of(*m));
    for (Attribution& a : named)
      a.evidence.insert(a.evidence.begin(), fmt::format("names: {}", fmt::join(names, "; ")));
    if (named.empty() && most_ > 0)
      for (Attribution& a : all) a.evidence.insert(a.evidence.begin(), "converted: the names are another exporter's");
    report_.exporters = !named.empty() ? std::move(named) : most_ > 0 ? std::move(all) : std::vector<Attribution>();
  }

  void add_fixable(const Fix& fix) {
    const Repair repair = fix.plan(model_, most_);
    for (const Finding& f : repair.findings)
      report_.faults.push_back({std::string(fix.name), std::string(fix.report), f.tensor,
                                repair.doubt.empty() ? f.message : f.message + "; not certain: " + repair.doubt,
                                repair.doubt.empty() ? &fix : nullptr});
  }

  void add_faults(const ExporterFault& fault, std::string_view exporter) {
    const auto add = [&](std::string tensor, std::string message) {
      if (report_.exporters.size() > 1) message += fmt::format(", if {} wrote it", exporter);
      for (const Fault& known : report_.faults)
        if (known.code == fault.code && known.tensor == tensor) return;
      report_.faults.push_back(
          {std::string(fault.code), std::string(fault.report), std::move(tensor), std::move(message)});
    };
    if (fault.in_model != nullptr)
      for (Finding& f : fault.in_model(model_)) add(std::move(f.tensor), std::move(f.message));
    if (fault.in_rows == nullptr || most_ == 0) return;
    for (const Module* m : weights_)
      sample_rows(model_, *m, most_, [&](const QuantizedTensor& rows) {
        if (std::string message = fault.in_rows(*m, rows); !message.empty())
          add(m->scales != nullptr ? m->scales->name : m->name, std::move(message));
      });
  }

  const Checkpoint& model_;
  std::uint64_t most_;
  std::vector<const Module*> weights_;
  // One weight of each kind: layers are spelled alike.
  std::map<std::tuple<const Spelling*, DType, std::size_t, std::string>, const Module*> kinds_;
  std::map<std::string, Traits> traits_;
  FingerprintReport report_;
};

}  // namespace

std::span<const Fingerprint* const> all_fingerprints() { return kRegistry_fingerprints; }

void Traits::add(const QuantizedTensor& q) {
  const Format& f = q.format;
  const bool bytes = q.scales.dtype() == DType::kU8;
  const bool blocks = bytes && f.block.rows == 1 && f.block.cols > 0;
  const std::int64_t cols = blocks ? f.block.cols : q.extent.cols, grid_cols = ceil_div(q.extent.cols, cols);
  bool all_zero = true, all_nan = blocks;
  Traits seen;  // of these rows, should they be no weight of zeros
  for (std::int64_t row = 0; row < q.extent.rows; ++row) {
    for (std::int64_t b = 0; b < grid_cols; ++b) {
      const BlockCodes codes = codes_of(q, row, b * cols, std::min(q.extent.cols, (b + 1) * cols));
      all_zero = all_zero && codes.largest == 0;
      if (!blocks) {
        seen.plus_zero = seen.plus_zero || codes.plus_zero;
        seen.minus_zero = seen.minus_zero || codes.minus_zero;
        continue;
      }
      const std::uint8_t scale = q.scales.as<std::uint8_t>()[row * grid_cols + b];
      if (is_nan_scale(f, scale)) continue;
      all_nan = false;
      seen.plus_zero = seen.plus_zero || codes.plus_zero;
      seen.minus_zero = seen.minus_zero || codes.minus_zero;
      if (codes.largest == 0) {
        seen.zeros_with_plus = seen.zeros_with_plus || codes.plus_zero;
        seen.zero_blocks[scale] = true;
        ++seen.zero_block_count;
        continue;
      }
      seen.others[scale] = true;
      ++seen.block_count;
      // At the ends of the range exponents are held, and the largest code says nothing of the mode.
      if (f.scale == kE8M0 && scale > 1 && scale < 253) seen.largest[codes.largest] = true;
    }
  }
  const float global = f.has_global ? q.global.as<float>()[0] : 1.f;
  if (f.has_global && q.extent.count() > 0 && (all_nan || (all_zero && is_of_zeros(global)))) {
    zero_weights.push_back({global, all_nan});
    return;
  }
  if (f.has_global) add_global(global);
  for (std::size_t i = 0; i < zero_blocks.size(); ++i) {
    zero_blocks[i] = zero_blocks[i] || seen.zero_blocks[i];
    others[i] = others[i] || seen.others[i];
    largest[i] = largest[i] || seen.largest[i];
  }
  zero_block_count += seen.zero_block_count;
  block_count += seen.block_count;
  plus_zero = plus_zero || seen.plus_zero;
  minus_zero = minus_zero || seen.minus_zero;
  zeros_with_plus = zeros_with_plus || seen.zeros_with_plus;
}

std::vector<Attribution> attribute(std::span<const Traits> traits) {
  std::vector<Attribution> found;
  for (const Fingerprint* f : all_fingerprints()) {
    Attribution a{.exporter = f, .versions = {}, .evidence = {}};
    std::size_t fitting = 0;
    for (const Release& release : f->releases) {
      std::vector<std::string> evidence;
      const bool all = std::all_of(traits.begin(), traits.end(), [&](const Traits& t) {
        const auto fit = std::find_if(release.signatures.begin(), release.signatures.end(),
                                      [&](const Signature& s) { return fits(s, t); });
        if (fit == release.signatures.end()) return false;
        add_evidence(*fit, t, evidence);
        return true;
      });
      if (!all) continue;
      ++fitting;
      a.versions.append(a.versions.empty() ? "" : " or ").append(release.versions);
      for (std::string& line : evidence)
        if (std::find(a.evidence.begin(), a.evidence.end(), line) == a.evidence.end())
          a.evidence.push_back(std::move(line));
    }
    if (fitting == 0) continue;
    if (fitting == f->releases.size()) a.versions = "any";
    found.push_back(std::move(a));
  }
  return found;
}

FingerprintReport take_fingerprint(const Checkpoint& model, std::uint64_t most) {
  return Fingerprinter(model, most).run();
}

}  // namespace tessera
