#include "tessera/io/checkpoint_scan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "tessera/io/foreign_layouts.h"
#include "tessera/io/module_names.h"

namespace tessera {
namespace {

using Grouped = std::map<std::string, ModuleTensors, std::less<>>;

bool is_kv_scale(std::string_view name) {
  for (const std::string_view suffix : {".k_scale", ".v_scale", ".q_scale", ".kv_scale", ".k_proj.output_scale",
                                        ".v_proj.output_scale", ".q_proj.output_scale", ".k_bias", ".v_bias"})
    if (name.ends_with(suffix))
      return suffix[2] != '_' || suffix.ends_with("scale") || name.find("attn") != std::string_view::npos;
  return false;
}

// Bytes that only quantized weights have: alone, outside a module, they are a layout that no dialect here explains.
bool is_narrow(const StoredTensor& t) { return dtype_bits(t.dtype) <= 8 && t.dtype != DType::kBool && t.ggml_type < 0; }

class Scanner final {
 public:
  Scanner(const Container& container, CheckpointScan& scan) : container_(container), scan_(scan) {
    scan_.warnings.assign(container.warnings().begin(), container.warnings().end());
  }

  void run() {
    if (container_.kind() != Container::Kind::kGguf) read_configuration();
    foreign_.emplace(scan_.config.metadata);
    Grouped grouped = group();
    for (const auto& [base, tensors] : grouped) add(base, tensors);
    check_experts();
    compare_with_declaration();
  }

 private:
  void read_configuration() {
    scan_.config = read_model_config(container_.folder());
    for (const ContainerFile& file : container_.files()) {
      if (!scan_.config.metadata.empty()) break;
      scan_.config.metadata.insert(file.metadata.begin(), file.metadata.end());
    }
    for (const ContainerFile& file : container_.files()) {
      const auto it = file.metadata.find(std::string(kGlobalsKey));
      if (it != file.metadata.end()) globals_.push_back(StoredGlobals::parse(it->second));
    }
    for (const Dialect* dialect : all_dialects()) {
      if (scan_.declared == nullptr) scan_.declared = dialect->read_declaration(scan_.config);
    }
  }

  Grouped group() {
    Grouped grouped;
    std::set<std::string, std::less<>> suffixes, scale_suffixes;
    for (const Dialect* dialect : all_dialects()) {
      for (const Spelling& s : dialect->spellings) {
        for (const std::string_view suffix : {s.codes, s.scales, s.global, s.activation, s.tolerated_one})
          suffixes.emplace(suffix);
        for (const std::string_view suffix : {s.scales, s.global, s.activation, s.tolerated_one})
          scale_suffixes.emplace(suffix);
      }
    }
    suffixes.erase("");
    scale_suffixes.erase("");
    auto last = grouped.end();  // tensors are sorted by name, so those of a module mostly follow each other
    for (const StoredTensor& t : container_.tensors()) {
      const std::size_t dot = t.name.rfind('.');
      const std::string_view suffix = std::string_view(t.name).substr(dot == std::string::npos ? 0 : dot + 1);
      if (is_kv_scale(t.name)) {
        scan_.places[&t] = {Role::kKvScale, std::string(std::string_view(t.name).substr(0, dot))};
      } else if (dot != std::string::npos && suffixes.contains(suffix)) {
        const std::string_view base = std::string_view(t.name).substr(0, dot);
        if (last == grouped.end() || last->first != base) last = grouped.try_emplace(std::string(base)).first;
        last->second.emplace(suffix, &t);
      } else {
        check_plain(t, scale_suffixes);
      }
    }
    return grouped;
  }

  void check_plain(const StoredTensor& t, const std::set<std::string, std::less<>>& scale_suffixes) {
    const bool scale = std::any_of(scale_suffixes.begin(), scale_suffixes.end(), [&](const std::string& s) {
      return t.name.ends_with("_" + s) || t.name.ends_with(s + "s");
    });
    if (!scale && !is_narrow(t)) return;
    problem("unexplained", Errc::kUnsupported, t.name,
            fmt::format(
                "{} is {} [{}], a layout that no dialect here explains (`tessera dialects` lists those that are read)",
                t.name, t.type, fmt::join(t.shape, ", ")));
  }

  void add(const std::string& base, const ModuleTensors& tensors) {
    const std::optional<Reading> reading = read_module(base, tensors, scan_.declared.get());
    if (!reading) return add_without_weight(base, tensors);
    const auto part = [&](std::string_view suffix) -> const StoredTensor* {
      const auto it = suffix.empty() ? tensors.end() : tensors.find(suffix);
      return it == tensors.end() ? nullptr : it->second;
    };
    const Spelling& s = *reading->spelling;
    Module m{.name = base,
             .reading = *reading,
             .codes = part(s.codes),
             .scales = part(s.scales),
             .global_tensor = part(s.global),
             .activation_tensor = part(s.activation)};
    for (const Complaint& c : reading->complaints)
      problem(c.code == Errc::kShape ? "shape" : "unreadable", c.code, c.tensor, c.message);
    const std::optional<std::string> foreign =
        m.is_quantized() ? foreign_->reason(base, m.reading.format) : std::nullopt;
    if (foreign)
      problem("foreign_layout", Errc::kUnsupported, m.codes->name,
              fmt::format("{} looks like {}, but {}", m.codes->name, format_label(m.reading.format), *foreign));
    if (reading->complaints.empty() && !foreign) read_numbers(m, part(s.tolerated_one));
    // A dense weight of one axis belongs to a norm or the like.
    if (!m.is_quantized() && m.codes->shape.size() < 2 && reading->complaints.empty()) return;
    for (const auto& [suffix, tensor] : tensors) scan_.places[tensor] = {role_of(m, suffix), base};
    scan_.modules.push_back(std::move(m));
  }

  void add_without_weight(const std::string& base, const ModuleTensors& tensors) {
    for (const auto& [suffix, t] : tensors) {
      if (is_scale_suffix(suffix))
        problem("orphan_scale", Errc::kCorrupt, t->name,
                fmt::format("{} ({}) scales nothing: {} has no weight", t->name, t->type, base));
      else if (is_narrow(*t))
        problem(
            "unexplained", Errc::kUnsupported, t->name,
            fmt::format("{} is {} [{}], which no dialect here explains", t->name, t->type, fmt::join(t->shape, ", ")));
    }
  }

  static Role role_of(const Module& m, std::string_view suffix) {
    const Spelling& s = *m.reading.spelling;
    if (suffix == s.codes) return m.is_quantized() ? Role::kCodes : Role::kDense;
    if (suffix == s.scales) return Role::kScales;
    if (suffix == s.global) return Role::kGlobal;
    if (suffix == s.activation && m.activation) return Role::kActivation;
    return Role::kIgnored;
  }

  float read_number(const StoredTensor& t) const {
    Tensor value(t.dtype, t.shape);
    container_.read(t, 0, value.span());
    return element_as_float(value, 0);
  }

  void read_numbers(Module& m, const StoredTensor* tolerated) {
    if (tolerated != nullptr) {
      const bool one = tolerated->elements() == 1 && tolerated->dtype == DType::kF32 && read_number(*tolerated) == 1.f;
      if (!one)
        problem("bad_global", Errc::kCorrupt, tolerated->name,
                fmt::format("{} is not 1, and a {} weight has no global scale", tolerated->name,
                            format_label(m.reading.format)));
    }
    if (m.global_tensor != nullptr) read_global(m);
    if (m.activation_tensor != nullptr) read_activation(m);
    const std::optional<DeclaredScheme>& declared = m.reading.declared;
    if (m.activation)
      m.activation_scheme = ActivationScheme::kStatic;
    else if (declared && declared->activation == ActivationScheme::kDynamic)
      m.activation_scheme = ActivationScheme::kDynamic;
  }

  StoredGlobal original_of(const std::string& name, float found, Sense sense) {
    for (const StoredGlobals& kept : globals_) {
      if (const std::optional<StoredGlobal> original = kept.original(name, found, sense)) return *original;
      if (kept.knows(name))
        scan_.warnings.push_back(
            {"edited_global", name,
             fmt::format("{} is {}, which is not what the file's metadata ({}) says it was made from: the "
                         "tensor counts",
                         name, found, kGlobalsKey)});
    }
    return {found, sense};
  }

  void read_global(Module& m) {
    const float stored = read_number(*m.global_tensor);
    m.global = original_of(m.global_tensor->name, stored, m.reading.sense);
    m.global_in_file = stored;
    if (is_finite(stored) && stored > 0) return check_plausible(m);
    const bool zero_tensor = !is_nan(stored) && stored >= 0 && codes_are_zero(m);
    if (zero_tensor) {  // some exporters write 0 or infinity for a weight of zeros
      m.global = StoredGlobal{1.f, m.reading.sense};
      problem("zero_weight_global", Errc::kCorrupt, m.global_tensor->name,
              fmt::format("{} is {} over codes that are all zero; it is read as 1", m.global_tensor->name, stored),
              true);
      return;
    }
    problem(
        "bad_global", Errc::kCorrupt, m.global_tensor->name,
        fmt::format(
            "{} is {} over codes that are not all zero; a global scale is finite and above 0: export the model again",
            m.global_tensor->name, stored));
  }

  // Weights are almost always between 2^-10 and 2^7 at their largest (spec/checkpoint-dialects.md 4.4). A global that
  // puts them beyond 2^-24 .. 2^14 was probably stored in the other sense.
  void check_plausible(const Module& m) {
    const float largest = 6.f * 448.f * m.global->value();
    if (largest > 0x1p-24f && largest < 0x1p14f) return;
    problem("implausible_global", Errc::kCorrupt, m.global_tensor->name,
            fmt::format("{} is {}, so weights may be as large as {:.3g}: it may be meant the other way round; `tessera "
                        "verify --against` the original tells",
                        m.global_tensor->name, m.global_in_file, largest),
            true);
  }

  bool codes_are_zero(const Module& m) const {
    const std::byte magnitude{static_cast<unsigned char>(m.reading.format.element == kE2M1 ? 0x77 : 0x7f)};
    std::vector<std::byte> piece(1 << 20);
    for (std::uint64_t at = 0; at < m.codes->bytes; at += piece.size()) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), m.codes->bytes - at));
      container_.read(*m.codes, at, std::span(piece).first(n));
      for (std::size_t i = 0; i < n; ++i)
        if ((piece[i] & magnitude) != std::byte{0}) return false;
    }
    return true;
  }

  void read_activation(Module& m) {
    const std::optional<DeclaredScheme>& declared = m.reading.declared;
    if (declared && declared->activation == ActivationScheme::kNone) return;  // declared weight-only: left over
    const float stored = read_number(*m.activation_tensor);
    const Sense sense = m.reading.spelling->activation_sense;
    if (is_finite(stored) && stored > 0) {
      m.activation = original_of(m.activation_tensor->name, stored, sense);
      return;
    }
    problem("bad_activation_scale", Errc::kCorrupt, m.activation_tensor->name,
            fmt::format("{} is {}: activations of {} are quantized dynamically instead", m.activation_tensor->name,
                        stored, m.name),
            true);
  }

  // Banks are complete: the same parts of every expert, as many as the configuration says.
  void check_experts() {
    std::map<std::string, std::map<std::int64_t, std::set<std::string>>> banks;
    for (const Module& m : scan_.modules)
      if (const std::optional<ExpertName> e = expert_name(m.name)) banks[e->bank][e->index].insert(e->part);
    std::int64_t declared = 0;
    for (const std::string_view key : {"num_experts", "num_local_experts", "n_routed_experts"})
      declared = std::max(declared, scan_.config.number(key).value_or(0));
    for (const auto& [bank, experts] : banks) {
      std::set<std::string> parts;
      for (const auto& [index, own] : experts) parts.insert(own.begin(), own.end());
      const bool shared = bank.ends_with("shared_experts");
      const std::int64_t count =
          std::max(experts.rbegin()->first + 1, shared ? 0 : std::min<std::int64_t>(declared, 1 << 20));
      for (std::int64_t i = 0; i < count; ++i) {
        const auto it = experts.find(i);
        for (const std::string& part : parts) {
          if (it != experts.end() && it->second.contains(part)) continue;
          problem("expert_missing", Errc::kNotFound, fmt::format("{}.{}.{}", bank, i, part),
                  fmt::format("{}.{}.{} is missing: the bank has {} experts with {}", bank, i, part, count,
                              fmt::join(parts, ", ")));
        }
      }
    }
  }

  void compare_with_declaration() {
    if (scan_.declared == nullptr) return;
    const Declaration& d = *scan_.declared;
    std::map<std::string, std::pair<std::string, std::size_t>> foreign;  // dialect -> first module, count
    for (const Module& m : scan_.modules) {
      const std::optional<DeclaredScheme>& scheme = m.reading.declared;
      if (!m.is_quantized()) {
        const ModuleKind kind = module_kind(m.name);
        if (scheme && m.codes->shape.size() == 2 && (kind == ModuleKind::kLinear || kind == ModuleKind::kHead))
          contradiction("declared_quantized", m.codes->name,
                        fmt::format("{} declares {} as {}, but it is stored as {}; the bytes win", d.where, m.name,
                                    scheme->label, m.codes->type));
        continue;
      }
      if (m.reading.dialect->name != d.dialect) {
        auto& [first, count] = foreign[std::string(m.reading.dialect->name)];
        if (count++ == 0) first = m.name;
      }
      const std::string_view family = format_family(m.reading.format);
      if (!scheme && d.names_modules)
        contradiction(
            "declared_dense", m.codes->name,
            fmt::format("{} leaves {} unquantized, but it is stored as {}; the bytes win", d.where, m.name, family));
      else if (scheme && !scheme->family.empty() && scheme->family != family)
        contradiction("declared_otherwise", m.codes->name,
                      fmt::format("{} declares {} as {}, but it is stored as {}; the bytes win", d.where, m.name,
                                  scheme->label, family));
    }
    for (const auto& [dialect, seen] : foreign)
      contradiction("declared_dialect", seen.first,
                    fmt::format("{} declares {}, but {} modules ({} the first) are spelled as {}; names decide",
                                d.where, d.dialect, seen.second, seen.first, dialect));
  }

  void problem(std::string code, Errc error, std::string tensor, std::string message, bool harmless = false) {
    scan_.problems.push_back({std::move(code), error, std::move(tensor), std::move(message), harmless});
  }
  void contradiction(std::string code, std::string tensor, std::string message) {
    scan_.contradictions.push_back({std::move(code), std::move(tensor), std::move(message)});
    scan_.warnings.push_back(scan_.contradictions.back());
  }

  const Container& container_;
  CheckpointScan& scan_;
  std::vector<StoredGlobals> globals_;
  std::optional<ForeignLayouts> foreign_;
};

}  // namespace

CheckpointScan scan_checkpoint(const Container& container) {
  CheckpointScan scan;
  Scanner(container, scan).run();
  return scan;
}

}  // namespace tessera
