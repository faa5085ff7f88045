#include "tessera/io/dialect.h"

#include <algorithm>

#include "tessera_registry/dialects.inc"

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

const StoredTensor* find(const ModuleTensors& tensors, std::string_view suffix) {
  const auto it = suffix.empty() ? tensors.end() : tensors.find(suffix);
  return it == tensors.end() ? nullptr : it->second;
}

std::vector<std::int64_t> without_ones(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> kept;
  for (const std::int64_t n : shape)
    if (n != 1) kept.push_back(n);
  return kept;
}

std::string text_of(const StoredTensor& t) { return fmt::format("{} [{}]", t.type, fmt::join(t.shape, ", ")); }

// One dialect's way to read the module, and how far it explains the tensors that are there.
struct Attempt {
  Reading reading;
  std::size_t explained = 0;
  int misfits = 0;   // parts that are there with another dtype: further away than a missing one
  int declared = 0;  // points for being what the configuration names: its dialect, its block
};

void complain(Attempt& a, Errc code, std::string tensor, std::string message) {
  a.reading.complaints.push_back({code, std::move(tensor), std::move(message)});
}

// The formats that a row can mean for these scales: one, or for block FP8 the one whose block is declared.
std::vector<Format> formats_of(const Spelling& s, const StoredTensor* scales, Block block) {
  if (s.format != "fp8_block*") return {find_format(s.format)};
  const Element scale = scales != nullptr && (scales->type == "F8_E8M0" || scales->type == "U8") ? kE8M0 : kE8M23;
  return {block_fp8(block, kE4M3, scale)};
}

void read_scales(Attempt& a, std::string_view base, const Spelling& s, const StoredTensor* scales) {
  if (s.scales.empty()) return;
  const std::string name = fmt::format("{}.{}", base, s.scales);
  if (scales == nullptr)
    return complain(a, Errc::kCorrupt, name, fmt::format("{} is missing: {} needs its block scales", name, s.codes));
  ++a.explained;
  if (!lists(s.scales_dtypes, scales->type)) {
    ++a.misfits;
    return complain(a, Errc::kCorrupt, name,
                    fmt::format("{} is {}; {} scales are {}", name, text_of(*scales), s.format, s.scales_dtypes));
  }
  const Extent grid = scale_extent(a.reading.format, a.reading.extent);
  const std::int64_t wanted[] = {grid.rows, grid.cols};
  if (without_ones(scales->shape) == without_ones(wanted)) return;
  complain(
      a, Errc::kShape, name,
      fmt::format("{} is {}; a {} weight of {} x {} has {} x {} scales", name, text_of(*scales),
                  format_label(a.reading.format), a.reading.extent.rows, a.reading.extent.cols, grid.rows, grid.cols));
}

void read_one_number(Attempt& a, std::string_view base, std::string_view suffix, const StoredTensor* t,
                     std::string_view dtypes, bool required) {
  if (suffix.empty()) return;
  const std::string name = fmt::format("{}.{}", base, suffix);
  if (t == nullptr) {
    if (required)
      complain(a, Errc::kCorrupt, name, fmt::format("{} is missing: without it the weight's scale is not known", name));
    return;
  }
  ++a.explained;
  if (!lists(dtypes, t->type)) {
    ++a.misfits;
    complain(a, Errc::kCorrupt, name, fmt::format("{} is {}; wanted {}", name, text_of(*t), dtypes));
  } else if (t->elements() != 1) {
    complain(a, Errc::kShape, name, fmt::format("{} is {}; wanted one number", name, text_of(*t)));
  }
}

std::optional<Attempt> attempt(const Dialect& dialect, const Spelling& s, const Format& format, std::string_view base,
                               const ModuleTensors& tensors, const std::optional<DeclaredScheme>& declared) {
  const StoredTensor* codes = find(tensors, s.codes);
  if (codes == nullptr || !lists(s.codes_dtypes, codes->type)) return {};
  Attempt a;
  a.reading = {.dialect = &dialect, .spelling = &s, .format = format, .sense = s.sense};
  ++a.explained;
  const std::string name = fmt::format("{}.{}", base, s.codes);
  if (format.is_scaled() && codes->shape.size() != 2) {
    complain(a, Errc::kUnsupported, name,
             fmt::format("{} is {}; this dialect's weights are matrices", name, text_of(*codes)));
    return a;
  }
  // Two codes in a byte count as one element in the header, but in the dtype F4.
  const bool packed = format.element == kE2M1 && codes->type != "F4";
  const std::int64_t cols = codes->shape.empty() ? 1 : codes->shape.back();
  const std::int64_t elements = codes->elements();
  a.reading.extent = {cols == 0 ? 0 : elements / cols, packed ? 2 * cols : cols};
  if (declared && declared->sense && s.sense == Sense::kDivide) a.reading.sense = *declared->sense;
  read_scales(a, base, s, find(tensors, s.scales));
  read_one_number(a, base, s.global, find(tensors, s.global), "F32", true);
  read_one_number(a, base, s.activation, find(tensors, s.activation), "F32 BF16 F16", false);
  if (find(tensors, s.tolerated_one) != nullptr) ++a.explained;
  std::string strangers;  // scales of the weight before those of activations: the first is named as the tensor at fault
  const StoredTensor* first = nullptr;
  for (const bool of_weight : {true, false}) {
    for (const auto& [suffix, tensor] : tensors) {
      const bool meant = suffix == s.codes || suffix == s.scales || suffix == s.global || suffix == s.activation ||
                         suffix == s.tolerated_one;
      if (meant || suffix.starts_with("weight") != of_weight || !is_module_suffix(suffix)) continue;
      strangers.append(strangers.empty() ? "" : ", ").append(fmt::format("{} ({})", suffix, text_of(*tensor)));
      if (first == nullptr) first = tensor;
    }
  }
  if (first != nullptr)
    complain(a, Errc::kCorrupt, first->name,
             fmt::format("{} is {}, and has no use for {} beside it", name, text_of(*codes), strangers));
  return a;
}

// The elements that really share a scale: a block larger than the matrix is the matrix.
Block clipped_block(const Reading& r) {
  const Block b = block_in(r.format, r.extent);
  return {std::min(b.cols, r.extent.cols), std::min(b.rows, r.extent.rows)};
}

bool decodes_alike(const Reading& a, const Reading& b) {
  return a.format.element == b.format.element && a.format.scale == b.format.scale &&
         a.format.has_global == b.format.has_global && a.extent == b.extent && clipped_block(a) == clipped_block(b) &&
         a.sense == b.sense && a.spelling->codes == b.spelling->codes && a.spelling->scales == b.spelling->scales &&
         a.spelling->global == b.spelling->global;
}

// Nearer to a full explanation; then the declared dialect; then the row that is written as it stands.
bool is_better(const Attempt& a, const Attempt& b) {
  const std::size_t ca = a.reading.complaints.size(), cb = b.reading.complaints.size();
  if ((ca == 0) != (cb == 0)) return ca == 0;
  if (a.misfits != b.misfits) return a.misfits < b.misfits;
  if (ca != cb) return ca < cb;
  if (a.explained != b.explained) return a.explained > b.explained;
  return a.declared > b.declared;
}

}  // namespace

std::span<const Dialect* const> all_dialects() { return kRegistry_dialects; }

const Dialect& find_dialect(std::string_view name) {
  std::string known;
  for (const Dialect* dialect : all_dialects()) {
    if (dialect->name == name) return *dialect;
    known.append(known.empty() ? "" : ", ").append(dialect->name);
  }
  fail(Errc::kNotFound, "no dialect '{}'; there are: {}", name, known);
}

bool is_module_suffix(std::string_view suffix) {
  for (const Dialect* dialect : all_dialects())
    for (const Spelling& s : dialect->spellings)
      if (suffix == s.codes || suffix == s.scales || suffix == s.global || suffix == s.activation ||
          suffix == s.tolerated_one)
        return true;
  return false;
}

bool is_scale_suffix(std::string_view suffix) {
  for (const Dialect* dialect : all_dialects())
    for (const Spelling& s : dialect->spellings)
      if (suffix == s.scales || suffix == s.global || suffix == s.activation || suffix == s.tolerated_one)
        return !suffix.empty();
  return false;
}

const Spelling* find_spelling(const Dialect& dialect, const Format& format) {
  for (const Spelling& s : dialect.spellings) {
    const bool any_block = s.format == "fp8_block*";
    if (any_block && format.element == kE4M3 && !format.has_global && format.block.rows > 1) return &s;
    if (any_block) continue;
    const Format& said = find_format(s.format);
    // A power of two is an f32 too: FP8 with E8M0 scales can be said where f32 scales can.
    const bool scale = said.scale == format.scale || (said.scale == kE8M23 && format.scale == kE8M0);
    if (said.element == format.element && said.block == format.block && said.has_global == format.has_global && scale &&
        said.is_dense() == format.is_dense())
      return &s;
  }
  return nullptr;
}

std::optional<Reading> read_module(std::string_view base, const ModuleTensors& tensors,
                                   const Declaration* declaration) {
  std::optional<DeclaredScheme> declared;
  if (declaration != nullptr) declared = declaration->scheme_of(base);
  Block block{128, 128};
  const bool named = (declaration != nullptr && declaration->block) || (declared && declared->block);
  if (declaration != nullptr && declaration->block) block = *declaration->block;
  if (declared && declared->block) block = *declared->block;
  std::optional<Attempt> best;
  std::vector<Reading> certain;
  for (const Dialect* dialect : all_dialects()) {
    for (const Spelling& s : dialect->spellings) {
      for (const Format& format : formats_of(s, find(tensors, s.scales), block)) {
        std::optional<Attempt> a = attempt(*dialect, s, format, base, tensors, declared);
        if (!a) continue;
        if (declaration != nullptr && declaration->dialect == dialect->name)
          a->declared = named && format.block == block ? 2 : 1;
        if (a->reading.complaints.empty()) certain.push_back(a->reading);
        if (!best || is_better(*a, *best)) best = std::move(a);
      }
    }
  }
  if (!best) return {};
  for (const Reading& other : certain) {
    if (decodes_alike(best->reading, other)) continue;
    complain(
        *best, Errc::kCorrupt, fmt::format("{}.{}", base, other.spelling->codes),
        fmt::format("{}: {} reads it as {}, {} as {}, and both explain every tensor", base, best->reading.dialect->name,
                    format_label(best->reading.format), other.dialect->name, format_label(other.format)));
    break;
  }
  best->reading.declared = std::move(declared);
  return std::move(best->reading);
}

}  // namespace tessera
