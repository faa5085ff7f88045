#include "tessera/io/dialect.h"

#include <algorithm>
#include <set>

#include "tessera/io/expert_bank.h"
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

// Calls fn(suffix) for each tensor that the spelling knows, the codes first.
template <class Fn>
void for_suffixes(const Spelling& s, const Fn& fn) {
  fn(s.codes);
  for (const std::string_view suffix : {s.scales, s.global, s.activation, s.tolerated_one})
    if (!suffix.empty()) fn(suffix);
  std::string_view notes = s.notes;
  while (!notes.empty()) {
    const std::size_t space = notes.find(' ');
    fn(notes.substr(0, space));
    notes = space == std::string_view::npos ? "" : notes.substr(space + 1);
  }
}

struct Suffixes {
  std::set<std::string_view> dotted, glued, underscored;  // suffixes of a module's tensors
  std::set<std::string_view> scales;                      // of those, the scales
};
const Suffixes& all_suffixes() {
  static const Suffixes all = [] {
    Suffixes found;
    for (const Dialect* dialect : kRegistry_dialects) {
      for (const Spelling& s : dialect->spellings) {
        std::set<std::string_view>& own = s.underscored ? found.underscored : s.glued ? found.glued : found.dotted;
        for_suffixes(s, [&](std::string_view suffix) { own.insert(suffix); });
        for (const std::string_view suffix : {s.scales, s.global, s.activation, s.tolerated_one})
          if (!suffix.empty()) found.scales.insert(suffix);
      }
    }
    return found;
  }();
  return all;
}

std::string text_of(const StoredTensor& t) { return fmt::format("{} [{}]", t.type, fmt::join(t.shape, ", ")); }

// A bank of more is no model's; each of its matrices becomes a module, so a shape alone must not make billions of them.
constexpr std::int64_t kMostExperts = 1 << 14;

// One dialect's way to read the module, and how far it explains the tensors that are there.
struct Attempt {
  Reading reading;
  std::size_t explained = 0;
  int misfits = 0;   // parts that are there with another dtype: further away than a missing one
  int declared = 0;  // points for being what the configuration names: its dialect, its block
};

// The module that is to be read, and what is known of it.
struct Subject {
  std::string_view base;
  const ModuleTensors& tensors;
  const Evidence& evidence;
  const std::optional<DeclaredScheme>& declared;
  const Claim& claim;
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

void count_experts(Attempt& a, const StoredTensor& codes, std::int64_t experts) {
  if (experts < 1 || experts > kMostExperts)
    complain(a, Errc::kShape, codes.name,
             fmt::format("{} is {}, a bank of {} experts; there may be 1 to {}", codes.name, text_of(codes), experts,
                         kMostExperts));
  a.reading.experts = std::clamp<std::int64_t>(experts, 1, kMostExperts);
}

// The extent and the grid of the codes, from the shape: [experts,] rows, columns, of which a dtype may hold several.
// False where the shape is not one that the spelling has.
bool place_codes(Attempt& a, const StoredTensor& codes, const Subject& subject) {
  const Spelling& s = *a.reading.spelling;
  const Format& format = a.reading.format;
  std::vector<std::int64_t> shape = codes.shape;
  if (s.blocks_axis) {
    if (shape.size() < 3 || shape.back() * 2 != format.block.cols) return false;
    shape[shape.size() - 2] *= shape.back();
    shape.pop_back();
  }
  const bool dense = format.is_dense();
  if (s.glued && shape.size() != 3) return false;
  if (shape.size() == 3 && (!dense || s.glued)) {
    count_experts(a, codes, shape[0]);
    shape.erase(shape.begin());
  } else if (shape.size() == 2 && !dense && is_bank_name(subject.base)) {
    const std::int64_t experts = expert_count(subject.evidence.config);
    if (experts > 0 && shape[0] % experts == 0) {
      count_experts(a, codes, experts);
      shape[0] /= experts;
    }
  }
  if (dense && a.reading.experts == 0) {
    const std::int64_t cols = shape.empty() ? 1 : shape.back(), elements = codes.elements();
    shape = {cols == 0 ? 0 : elements / cols, cols};
  }
  if (shape.size() != 2) return false;
  const std::int64_t bits = dtype_bits(codes.dtype), unit = dense ? bits : 8;
  Extent stored{shape[0], shape[1]};
  if (s.transposed) {
    if (bits != unit) return false;
    std::swap(stored.rows, stored.cols);
  } else {
    stored.cols = stored.cols * bits / unit;
  }
  a.reading.codes = {.order = s.transposed ? GridOrder::kColumns : GridOrder::kRows, .stored = stored};
  a.reading.extent = {stored.rows, stored.cols * unit / format.element.bits()};
  if (!subject.claim.logical) return true;
  const Extent logical = *subject.claim.logical, padded = a.reading.extent;
  if (logical.rows <= 0 || logical.cols <= 0 || logical.rows > padded.rows || logical.cols > padded.cols ||
      round_up(logical.rows, s.padding.rows) != padded.rows || round_up(logical.cols, s.padding.cols) != padded.cols) {
    complain(a, Errc::kShape, codes.name,
             fmt::format("{} is {}, which is not {} x {} padded to multiples of {} x {}", codes.name, text_of(codes),
                         logical.rows, logical.cols, s.padding.rows, s.padding.cols));
    return true;
  }
  a.reading.extent = logical;
  return true;
}

void read_scales(Attempt& a, std::string_view base, const Spelling& s, const StoredTensor* scales, const Claim& claim) {
  if (s.scales.empty()) return;
  const std::string name = s.name_of(base, s.scales);
  if (scales == nullptr)
    return complain(a, Errc::kCorrupt, name, fmt::format("{} is missing: {} needs its block scales", name, s.codes));
  ++a.explained;
  if (!lists(s.scales_dtypes, scales->type)) {
    ++a.misfits;
    return complain(a, Errc::kCorrupt, name,
                    fmt::format("{} is {}; {} scales are {}", name, text_of(*scales), s.format, s.scales_dtypes));
  }
  const Reading& r = a.reading;
  const Extent grid = scale_extent(r.format, r.extent);
  const std::int64_t experts = std::max<std::int64_t>(1, r.experts), count = scales->elements();
  const GridOrder order = claim.scale_order.value_or(s.scale_order);
  a.reading.scales = {.order = s.transposed ? GridOrder::kColumns : order, .stored = grid};
  if (order == GridOrder::kTiles) {  // a shape of whole tiles is written in several ways; the number of scales decides
    const std::int64_t rows = round_up(grid.rows, 128);
    const std::int64_t cols = rows > 0 && count % (experts * rows) == 0 ? count / (experts * rows) : 0;
    a.reading.scales.stored = {rows, cols};
    const std::vector<std::int64_t> plain{rows, cols}, flat{rows / 4, cols * 4};
    const bool named = r.experts > 0 || scales->shape.size() != 2 || scales->shape == plain || scales->shape == flat;
    if (named && cols % 4 == 0 && cols >= grid.cols && cols < grid.cols + 16) return;
  } else {
    std::vector<std::int64_t> wanted{grid.rows, grid.cols};
    if (s.transposed) std::swap(wanted[0], wanted[1]);
    if (r.experts > 0) wanted.insert(wanted.begin(), r.experts);
    if (without_ones(scales->shape) == without_ones(wanted)) return;
    if (r.experts > 0 && (count == grid.count() * r.experts) && scales->shape.size() == 2 &&
        scales->shape[0] == r.experts * grid.rows)
      return;  // the experts' rows under each other
    if (r.experts > 0 && grid.count() == 1 && count == 1) return;
    if (r.format.block == Block{0, 0} && grid.count() == 0 && count == 1) return;  // the one scale of no rows
  }
  complain(a, Errc::kShape, name,
           fmt::format("{} is {}; a {} weight of {} x {} has {} x {} scales{}{}", name, text_of(*scales),
                       format_label(r.format), r.extent.rows, r.extent.cols, grid.rows, grid.cols,
                       r.experts > 0 ? fmt::format(" for each of {} experts", r.experts) : "",
                       order == GridOrder::kTiles ? ", in tiles of 128 x 4" : ""));
}

void read_one_number(Attempt& a, std::string_view base, std::string_view suffix, const StoredTensor* t,
                     std::string_view dtypes, bool required) {
  if (suffix.empty()) return;
  const std::string name = a.reading.spelling->name_of(base, suffix);
  if (t == nullptr) {
    if (required)
      complain(a, Errc::kCorrupt, name, fmt::format("{} is missing: without it the weight's scale is not known", name));
    return;
  }
  ++a.explained;
  if (!lists(dtypes, t->type)) {
    ++a.misfits;
    complain(a, Errc::kCorrupt, name, fmt::format("{} is {}; wanted {}", name, text_of(*t), dtypes));
  } else if (const std::int64_t n = t->elements(), e = a.reading.experts;
             n != 1 && (e == 0 || (n != e && n != 2 * e))) {
    complain(a, Errc::kShape, name,
             fmt::format("{} is {}; wanted one number{}", name, text_of(*t), e > 0 ? " or one for each expert" : ""));
  }
}

std::optional<Attempt> attempt(const Dialect& dialect, const Spelling& s, const Format& format,
                               const StoredTensor& codes, const Subject& subject) {
  Attempt a;
  a.reading = {.dialect = &dialect, .spelling = &s, .format = format, .sense = s.sense};
  ++a.explained;
  if (!place_codes(a, codes, subject)) {
    if (format.is_dense()) return {};
    const std::string_view wanted = s.blocks_axis ? "[experts, rows, blocks, 16]"
                                    : s.glued     ? "[experts, rows, columns]"
                                                  : "a matrix, or a bank of them";
    complain(
        a, Errc::kUnsupported, codes.name,
        fmt::format("{} is {}; {} weights of {} are {}", codes.name, text_of(codes), s.format, dialect.name, wanted));
    return a;
  }
  const std::optional<DeclaredScheme>& declared = subject.declared;
  const ModuleTensors& tensors = subject.tensors;
  if (declared && declared->sense && s.sense == Sense::kDivide) a.reading.sense = *declared->sense;
  read_scales(a, subject.base, s, find(tensors, s.scales), subject.claim);
  read_one_number(a, subject.base, s.global, find(tensors, s.global), "F32 BF16 F16", !s.global_may_lack);
  read_one_number(a, subject.base, s.activation, find(tensors, s.activation), "F32 BF16 F16", false);
  std::set<std::string_view> meant;
  for_suffixes(s, [&](std::string_view suffix) { meant.insert(suffix); });
  std::string strangers;  // scales of the weight before those of activations: the first is named as the tensor at fault
  const StoredTensor* first = nullptr;
  for (const bool of_weight : {true, false}) {
    for (const auto& [suffix, tensor] : tensors) {
      if (suffix.starts_with("weight") != of_weight) continue;
      if (meant.contains(suffix)) {
        a.explained += suffix == s.tolerated_one || lists(s.notes, suffix);
        continue;
      }
      strangers.append(strangers.empty() ? "" : ", ").append(fmt::format("{} ({})", suffix, text_of(*tensor)));
      if (first == nullptr) first = tensor;
    }
  }
  if (first != nullptr)
    complain(a, Errc::kCorrupt, first->name,
             fmt::format("{} is {}, and has no use for {} beside it", codes.name, text_of(codes), strangers));
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
         a.sense == b.sense && a.codes == b.codes && a.scales == b.scales &&
         a.spelling->high_nibble_first == b.spelling->high_nibble_first && a.spelling->codes == b.spelling->codes &&
         a.spelling->scales == b.spelling->scales && a.spelling->global == b.spelling->global;
}

// Nearer to a full explanation; then the declared dialect; then the row that is written as it stands.
bool is_better(const Attempt& a, const Attempt& b) {
  const std::size_t ca = a.reading.complaints.size(), cb = b.reading.complaints.size();
  if ((ca == 0) != (cb == 0)) return ca == 0;
  if (ca != cb) return ca < cb;
  if (a.misfits != b.misfits) return a.misfits < b.misfits;
  if (a.explained != b.explained) return a.explained > b.explained;
  return a.declared > b.declared;
}

// The dialect that knows the module for its own, and what it says of it.
struct Owner {
  const Dialect* dialect = nullptr;
  Claim claim{};
  std::string others{};  // further dialects that claim it
};
Owner owner_of(std::string_view base, const ModuleTensors& tensors, const Evidence& evidence) {
  Owner owner;
  for (const Dialect* dialect : kRegistry_dialects) {
    if (dialect->claim == nullptr) continue;
    std::optional<Claim> claim = dialect->claim(base, tensors, evidence);
    if (!claim) continue;
    if (owner.dialect == nullptr)
      owner = {dialect, std::move(*claim), {}};
    else
      owner.others.append(owner.others.empty() ? "" : ", ").append(dialect->name);
  }
  return owner;
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

std::string Spelling::name_of(std::string_view module, std::string_view suffix) const {
  if (!underscored) return fmt::format("{}{}{}", module, glued ? "" : ".", suffix);
  const std::size_t last = module.rfind('.') + 1;  // 0 where there is no dot
  return fmt::format("{}_{}{}", module.substr(0, last), module.substr(last), suffix);
}

bool has_tiles(const StoredTensor& scales, Extent grid) {
  return scales.shape.size() == 2 && scales.shape[0] == round_up(grid.rows, 128) && scales.shape[1] % 4 == 0 &&
         scales.shape[1] >= grid.cols && scales.shape[1] < grid.cols + 16;
}

std::optional<ModuleSuffix> split_module_suffix(std::string_view tensor) {
  const Suffixes& all = all_suffixes();
  const std::size_t dot = tensor.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view folder = tensor.substr(0, dot), last = tensor.substr(dot + 1);
  if (all.dotted.contains(last)) return ModuleSuffix{std::string(folder), last};
  const bool underscored = last.starts_with('_');
  const std::string name = underscored ? fmt::format("{}.{}", folder, last.substr(1)) : std::string(tensor);
  const std::set<std::string_view>& suffixes = underscored ? all.underscored : all.glued;
  // The longest bank's name that the tensor's begins with.
  for (std::size_t end = name.size(); end > dot + 1; --end) {
    const std::string_view suffix = tensor.substr(tensor.size() - (name.size() - end));
    if ((suffix.empty() || suffix[0] == '_') && is_bank_name(std::string_view(name).substr(0, end)) &&
        suffixes.contains(suffix))
      return ModuleSuffix{name.substr(0, end), suffix};
  }
  return {};
}

bool is_scale_suffix(std::string_view suffix) { return all_suffixes().scales.contains(suffix); }

const Spelling* find_spelling(const Dialect& dialect, const Format& format) {
  for (const Spelling& s : dialect.spellings) {
    if (s.only_read) continue;
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

std::optional<Reading> read_module(std::string_view base, const ModuleTensors& tensors, const Evidence& evidence) {
  const Declaration* declaration = evidence.declaration;
  std::optional<DeclaredScheme> declared;
  if (declaration != nullptr) declared = declaration->scheme_of(base);
  Block block{128, 128};
  const bool named = (declaration != nullptr && declaration->block) || (declared && declared->block);
  if (declaration != nullptr && declaration->block) block = *declaration->block;
  if (declared && declared->block) block = *declared->block;
  const Owner owner = owner_of(base, tensors, evidence);
  const Subject subject{base, tensors, evidence, declared, owner.claim};
  std::optional<Attempt> best;
  std::vector<Reading> certain;
  const auto try_spellings = [&](std::string_view only) {
    for (const Dialect* dialect : all_dialects()) {
      if (owner.dialect != nullptr && owner.dialect != dialect) continue;
      for (const Spelling& s : dialect->spellings) {
        if (only.empty() ? s.only_claimed : s.format != only) continue;
        const bool declares = declaration != nullptr && declaration->dialect == dialect->name;
        if (owner.dialect == nullptr && (dialect->only_claimed || (dialect->only_declared && !declares))) continue;
        const auto codes = tensors.find(s.codes);
        if (codes == tensors.end() || !lists(s.codes_dtypes, codes->second->type)) continue;
        for (const Format& format : formats_of(s, find(tensors, s.scales), block)) {
          std::optional<Attempt> a = attempt(*dialect, s, format, *codes->second, subject);
          if (!a) continue;
          if (declares) a->declared = named && format.block == block ? 2 : 1;
          if (a->reading.complaints.empty()) certain.push_back(a->reading);
          if (!best || is_better(*a, *best)) best = std::move(a);
        }
      }
    }
  };
  try_spellings(owner.claim.format);
  if (!best && !owner.claim.format.empty()) {
    try_spellings("");
    if (!best) return {};
    const StoredTensor& codes = *find(tensors, best->reading.spelling->codes);
    best->reading.complaints.clear();
    complain(*best, Errc::kCorrupt, codes.name,
             fmt::format("{} is {}, and {} says that it is {}", codes.name, text_of(codes), owner.dialect->name,
                         owner.claim.format));
  }
  if (!best) return {};
  for (const Reading& other : certain) {
    if (decodes_alike(best->reading, other)) continue;
    complain(
        *best, Errc::kCorrupt, other.spelling->name_of(base, other.spelling->codes),
        fmt::format("{}: {} reads it as {}, {} as {}, and both explain every tensor", base, best->reading.dialect->name,
                    format_label(best->reading.format), other.dialect->name, format_label(other.format)));
    break;
  }
  if (!owner.claim.refusal.empty()) {
    best->reading.complaints.clear();
    complain(*best, Errc::kUnsupported, std::string(base), fmt::format("{}: {}", base, owner.claim.refusal));
  }
  if (!owner.others.empty()) {
    best->reading.complaints.clear();
    complain(*best, Errc::kCorrupt, std::string(base),
             fmt::format("{} is {}'s by some signs and {}'s by others", base, owner.dialect->name, owner.others));
  }
  best->reading.declared = std::move(declared);
  return std::move(best->reading);
}

}  // namespace tessera
