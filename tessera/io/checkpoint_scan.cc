#include "tessera/io/checkpoint_scan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "tessera/io/module_checks.h"

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

// Empty tensors may claim any axes beside the zero. Below this, products of axes stay far from 2^63.
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
bool has_absurd_axes(const StoredTensor& t) {
  std::int64_t product = 1;
  for (const std::int64_t n : t.shape)
    if (n > 0 && (n > kMostElements / product || (product *= n) > kMostElements)) return true;
  return false;
}

constexpr std::size_t kMostModules = 2'000'000;  // of banks; a file's header has at most a million tensors
constexpr std::uint64_t kMostText = 64 << 10;    // of a note that stands in a tensor

class Scanner final {
 public:
  Scanner(const Container& container, CheckpointScan& scan) : container_(container), scan_(scan) {
    scan_.warnings.assign(container.warnings().begin(), container.warnings().end());
  }

  void run(std::optional<ModelConfig> config) {
    if (container_.kind() != Container::Kind::kGguf) read_configuration(std::move(config));
    Grouped grouped = group();
    evidence_.emplace(gather_evidence());
    for (const auto& [base, tensors] : grouped) add(base, tensors);
    std::sort(scan_.modules.begin(), scan_.modules.end(),
              [](const Module& a, const Module& b) { return a.name < b.name; });
    check_modules(scan_);
  }

 private:
  void read_configuration(std::optional<ModelConfig> config) {
    scan_.config = config ? std::move(*config) : read_model_config(container_.folder());
    for (const ContainerFile& file : container_.files())
      scan_.config.metadata.insert(file.metadata.begin(), file.metadata.end());
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
    auto last = grouped.end();  // tensors are sorted by name, so those of a module mostly follow each other
    for (const StoredTensor& t : container_.tensors()) {
      if (has_absurd_axes(t)) {
        problem("shape", Errc::kShape, t.name,
                fmt::format("{} is {} [{}]; axes of at most 2^48 elements are read, an empty tensor's too", t.name,
                            t.type, fmt::join(t.shape, ", ")));
      } else if (is_kv_scale(t.name)) {
        scan_.places[&t] = {Role::kKvScale, t.name.substr(0, t.name.rfind('.'))};
      } else if (const std::optional<ModuleSuffix> split = split_module_suffix(t.name)) {
        if (last == grouped.end() || last->first != split->module) last = grouped.try_emplace(split->module).first;
        last->second.emplace(split->suffix, &t);
      } else if (is_marker(t.name)) {
        scan_.places[&t] = {Role::kMarker, ""};
      } else {
        check_plain(t);
      }
    }
    return grouped;
  }

  static bool is_marker(std::string_view name) {
    const std::string_view last = name.substr(name.rfind('.') + 1);
    return std::any_of(all_dialects().begin(), all_dialects().end(),
                       [&](const Dialect* d) { return !d->markers.empty() && d->markers == last; });
  }

  // Bytes that only quantized weights have, or a name that only their scales have, outside every module.
  void check_plain(const StoredTensor& t) {
    const std::size_t cut = t.name.find_last_of("._");
    const std::string_view end = std::string_view(t.name).substr(cut == std::string::npos ? 0 : cut + 1);
    const bool scale =
        (end == "scale" || end == "scales" || end == "inv") && t.name.find("weight_") != std::string::npos;
    if (!scale && !is_narrow(t)) return;
    problem("unexplained", Errc::kUnsupported, t.name,
            fmt::format(
                "{} is {} [{}], a layout that no dialect here explains (`tessera dialects` lists those that are read)",
                t.name, t.type, fmt::join(t.shape, ", ")));
  }

  // What dialects may ask beside a module's own tensors.
  Evidence gather_evidence() {
    Evidence evidence{.config = scan_.config,
                      .declaration = scan_.declared.get(),
                      .single_file = container_.kind() == Container::Kind::kFile,
                      .tiles = {},
                      .text = {},
                      .layer_note = {}};
    evidence.text = [this](const StoredTensor& t) {
      require(t.bytes <= kMostText, Errc::kCorrupt, "{} has {} bytes, which is no short text", t.name, t.bytes);
      const std::vector<std::byte> bytes = container_.read_all(t);
      return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    if (const auto notes = scan_.config.metadata.find("_quantization_metadata"); notes != scan_.config.metadata.end()) {
      try {
        layer_notes_ = parse_json(notes->second);
        require(layer_notes_.is_object(), Errc::kCorrupt, "the metadata '_quantization_metadata' holds no JSON object");
      } catch (Error& e) {
        e.add_note("reading the metadata '_quantization_metadata'");
        throw;
      }
    }
    evidence.layer_note = [this](std::string_view module) -> const Json* {
      const Json* layers = layer_notes_.is_object() ? layer_notes_.find("layers") : nullptr;
      const Json* note = layers != nullptr && layers->is_object() ? layers->find(module) : nullptr;
      return note != nullptr && note->is_object() ? note : nullptr;
    };
    if (scan_.config.metadata.contains("quantization_config")) evidence.tiles = see_tiles();
    return evidence;
  }

  // Whether block scales of FP4 stand in tiles, from those whose shape is not the same either way.
  std::optional<bool> see_tiles() const {
    for (const StoredTensor& t : container_.tensors()) {
      if (!t.name.ends_with(".weight_scale") || t.type != "F8_E4M3" || t.shape.size() != 2) continue;
      const StoredTensor* codes = container_.find(t.name.substr(0, t.name.size() - 6));
      if (codes == nullptr || codes->type != "U8" || codes->shape.size() != 2) continue;
      const Extent grid{codes->shape[0], codes->shape[1] / 8};
      const bool rows = t.shape == std::vector{grid.rows, grid.cols};
      if (rows != has_tiles(t, grid)) return !rows;
    }
    return {};
  }

  void add(const std::string& base, const ModuleTensors& tensors) {
    const std::optional<Reading> reading = read_module(base, tensors, *evidence_);
    if (!reading) return add_without_weight(base, tensors);
    const auto part = [&](std::string_view suffix) -> const StoredTensor* {
      const auto it = tensors.find(suffix);
      return it == tensors.end() ? nullptr : it->second;
    };
    const auto scale_part = [&](std::string_view suffix) { return suffix.empty() ? nullptr : part(suffix); };
    const Spelling& s = *reading->spelling;
    Module m{.name = base,
             .reading = *reading,
             .codes = part(s.codes),
             .scales = scale_part(s.scales),
             .global_tensor = scale_part(s.global),
             .activation_tensor = scale_part(s.activation)};
    for (const Complaint& c : reading->complaints)
      problem(c.code == Errc::kShape ? "shape" : "unreadable", c.code, c.tensor, c.message);
    if (reading->complaints.empty() && reading->experts > 0) return add_bank(std::move(m), tensors);
    for (const std::string_view suffix : {".pre_quant_scale", ".svdquant_lora_a", ".svdquant_lora_b"})
      if (m.is_quantized() && m.companion == nullptr) m.companion = container_.find(base + std::string(suffix));
    if (reading->complaints.empty()) {
      trim_padding(m);
      read_numbers(m, scale_part(s.tolerated_one), 0);
    }
    // A dense weight of one axis belongs to a norm or the like.
    if (!m.is_quantized() && m.codes->shape.size() < 2 && reading->complaints.empty()) return;
    for (const auto& [suffix, tensor] : tensors) scan_.places[tensor] = {role_of(m, suffix), base};
    scan_.modules.push_back(std::move(m));
  }

  // Zeros that a dialect pads its codes with and does not count: rows beyond the bias, and columns beyond a width that
  // the model has elsewhere, where all their codes are zero.
  void trim_padding(Module& m) {
    const Spelling& s = *m.reading.spelling;
    Extent& e = m.reading.extent;
    const Extent stored = e;
    if (s.padding == Block{1, 1} || e.rows % s.padding.rows != 0 || e.cols % s.padding.cols != 0) return;
    if (e != Extent{m.reading.codes.stored.rows, m.reading.codes.stored.cols * 8 / m.reading.format.element.bits()})
      return;
    const StoredTensor* bias = container_.find(m.name + ".bias");
    if (bias != nullptr && bias->shape.size() == 1 && round_up(bias->shape[0], s.padding.rows) == e.rows)
      e.rows = bias->shape[0];
    for (auto width = widths().upper_bound(e.cols - s.padding.cols); width != widths().end() && *width < e.cols;
         ++width) {
      if (*width % 2 != 0 || !columns_are_zero(m, stored, *width)) continue;
      e.cols = *width;
      break;
    }
    if (e == stored) return;
    scan_.warnings.push_back({"padding", m.codes->name,
                              fmt::format("{} is {} x {}, of which {} x {} are counted: the rest is padding with zeros",
                                          m.codes->name, stored.rows, stored.cols, e.rows, e.cols)});
  }

  // Lengths of biases and norms.
  const std::set<std::int64_t>& widths() {
    if (widths_) return *widths_;
    widths_.emplace();
    for (const StoredTensor& t : container_.tensors())
      if (t.shape.size() == 1 && !is_narrow(t)) widths_->insert(t.shape[0]);
    return *widths_;
  }

  bool columns_are_zero(const Module& m, Extent stored, std::int64_t from) const {
    const int bits = m.reading.format.element.bits();
    const Extent part{stored.rows, stored.cols * bits / 8};
    std::vector<std::byte> codes(static_cast<std::size_t>(part.count()));
    take_grid(container_, *m.codes, m.reading.codes, 1, part, 0, codes);
    for (std::int64_t row = 0; row < part.rows; ++row)
      for (std::int64_t i = from * bits / 8; i < part.cols; ++i)
        if (codes[static_cast<std::size_t>(row * part.cols + i)] != std::byte{0}) return false;
    return true;
  }

  // A bank: its matrices as modules, each with its place in the tensors.
  void add_bank(Module whole, const ModuleTensors& tensors) {
    const Reading& r = whole.reading;
    const std::string model_type =
        scan_.config.config.is_object() ? scan_.config.config.string_or("model_type", "") : "";
    const bool interleaved = r.spelling->blocks_axis || model_type.starts_with("gpt_oss");
    Bank bank{.name = whole.name,
              .experts = r.experts,
              .extent = r.extent,
              .parts = {},
              .dense_transposed = r.spelling->blocks_axis || r.spelling->transposed};
    if (!whole.is_quantized()) bank.dense_transposed = stands_transposed_in_file(whole);
    if (r.spelling->underscored && stands_transposed_in_file(whole))
      return problem("unreadable", Errc::kUnsupported, whole.codes->name,
                     fmt::format("{} stands as [experts, in, out]: blocks along its last axis are none of the matrix "
                                 "that multiplies",
                                 whole.codes->name));
    if (bank.dense_transposed && !whole.is_quantized()) {
      std::swap(bank.extent.rows, bank.extent.cols);
      whole.reading.codes.order = GridOrder::kColumns;
      std::swap(whole.reading.codes.stored.rows, whole.reading.codes.stored.cols);
    }
    for (const std::string_view suffix : {"_bias", ".bias"})
      if (const StoredTensor* bias = container_.find(whole.name + std::string(suffix))) bank.bias = bias;
    if (whole.name.ends_with("_weight"))
      if (const StoredTensor* bias = container_.find(whole.name.substr(0, whole.name.size() - 6) + "bias"))
        bank.bias = bias;
    try {
      bank.parts = bank_parts(whole.name, bank.extent.rows, interleaved);
    } catch (const Error& e) {
      return problem("shape", e.code(), whole.codes->name, e.message());
    }
    const Extent grid = scale_extent(r.format, bank.extent);
    const std::int64_t block_rows = r.format.is_scaled() ? block_in(r.format, bank.extent).rows : 1;
    if (!has_whole_numbers(whole, bank)) return;
    require(scan_.modules.size() + static_cast<std::size_t>(bank.experts) * bank.parts.size() <= kMostModules,
            Errc::kUnsupported, "{} brings the model to more than {} matrices", whole.codes->name, kMostModules);
    for (const BankPart& part : bank.parts) {
      const bool cuts = r.format.block.rows > 1 && (part.row_step > 1 || part.first_row % block_rows != 0);
      if (!cuts) continue;
      problem("unreadable", Errc::kUnsupported, whole.codes->name,
              fmt::format("{}: {} begins within a block of {} rows", whole.codes->name, part.name, block_rows));
      return;
    }
    for (std::int64_t e = 0; e < bank.experts; ++e) {
      for (std::size_t p = 0; p < bank.parts.size(); ++p) {
        const BankPart& part = bank.parts[p];
        Module m = whole;
        m.name = expert_module(whole.name, e, part.name);
        m.bank = whole.name;
        m.expert = e;
        if (scan_.declared != nullptr) m.reading.declared = scan_.declared->scheme_of(m.name);
        m.reading.extent = {part.rows, bank.extent.cols};
        m.reading.codes.origin = e * m.reading.codes.stored.count();
        m.reading.codes.first_row = part.first_row;
        m.reading.codes.row_step = part.row_step;
        if (whole.scales != nullptr && whole.scales->elements() > grid.count()) {
          m.reading.scales.origin = e * m.reading.scales.stored.count();
        }
        m.reading.scales.first_row = r.format.block.rows == 0 ? 0 : part.first_row / block_rows;
        m.reading.scales.row_step = part.row_step;
        read_numbers(m, nullptr, p);
        scan_.modules.push_back(std::move(m));
      }
    }
    for (const auto& [suffix, tensor] : tensors) {
      scan_.places[tensor] = {role_of(whole, suffix), whole.name};
      bank.tensors.push_back(tensor);
    }
    scan_.banks.push_back(std::move(bank));
  }

  // Of a bank: globals and activation scales for each expert, or for each of its two parts; biases for each row.
  bool has_whole_numbers(const Module& whole, const Bank& bank) {
    for (const StoredTensor* t : {whole.global_tensor, whole.activation_tensor}) {
      const std::int64_t most = bank.experts * static_cast<std::int64_t>(bank.parts.size());
      if (t == nullptr || t->elements() <= std::max<std::int64_t>(1, most)) continue;
      problem("shape", Errc::kShape, t->name,
              fmt::format("{} is [{}]; wanted one number, or one for each of {} experts", t->name,
                          fmt::join(t->shape, ", "), bank.experts));
      return false;
    }
    const std::int64_t rows = bank.experts * bank.extent.rows;
    if (bank.bias == nullptr || bank.bias->elements() == rows) return true;
    problem("shape", Errc::kShape, bank.bias->name,
            fmt::format("{} is [{}]; {} has {} experts of {} rows, so {} numbers are wanted", bank.bias->name,
                        fmt::join(bank.bias->shape, ", "), bank.name, bank.experts, bank.extent.rows, rows));
    return false;
  }

  bool stands_transposed_in_file(const Module& m) const {
    const Spelling& s = *m.reading.spelling;
    const std::string folder = m.name.substr(0, m.name.rfind('.') + 1);
    const auto shape_of = [&](const char* bank) -> std::vector<std::int64_t> {
      const StoredTensor* codes = container_.find(m.is_quantized() ? s.name_of(folder + bank, s.codes) : folder + bank);
      if (codes == nullptr) return {};
      std::vector<std::int64_t> shape = codes->shape;
      if (m.is_quantized() && !shape.empty())
        shape.back() = shape.back() * dtype_bits(codes->dtype) / m.reading.format.element.bits();
      return shape;
    };
    return stands_transposed(shape_of("gate_up_proj"), shape_of("down_proj"));
  }

  void add_without_weight(const std::string& base, const ModuleTensors& tensors) {
    // Names that only quantized weights have, over words that no dialect's codes are: AWQ, GPTQ, packed integers.
    for (const auto& [suffix, t] : tensors) {
      if (suffix != "qweight" && suffix != "weight_packed") continue;
      return problem("unexplained", Errc::kUnsupported, t->name,
                     fmt::format("{} is {} [{}]: packed integers, as AWQ, GPTQ and int4 exports have them; {} is read "
                                 "from floats of 4 or 8 bits alone",
                                 t->name, t->type, fmt::join(t->shape, ", "), base));
    }
    for (const auto& [suffix, t] : tensors) {
      // "scale", "scales" and "blocks" alone are names that norms and others have too.
      const bool telling = suffix.find("weight") != std::string::npos || suffix.find("input") != std::string::npos;
      if (is_scale_suffix(suffix) && (telling || is_narrow(*t)))
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
    if (!s.notes.empty() && s.notes.find(suffix) != std::string_view::npos) return Role::kMarker;
    return Role::kIgnored;
  }

  float read_number(const StoredTensor& t, std::int64_t index) const {
    Tensor value(t.dtype, {1});
    const std::size_t unit = static_cast<std::size_t>(dtype_bits(t.dtype)) / 8;
    container_.read(t, static_cast<std::uint64_t>(index) * unit, value.span());
    return element_as_float(value, 0);
  }
  // A tensor has one number for all modules of a bank, one for each expert, or one for each of its two parts.
  static std::int64_t index_in(const StoredTensor& t, const Module& m, std::size_t part) {
    const std::int64_t n = t.elements();
    if (m.bank.empty() || n == 1) return 0;
    return n == m.reading.experts ? m.expert : 2 * m.expert + static_cast<std::int64_t>(part);
  }

  // `part`: of a bank's module, which of its parts it is.
  void read_numbers(Module& m, const StoredTensor* tolerated, std::size_t part) {
    if (tolerated != nullptr) {
      const bool one =
          tolerated->elements() == 1 && tolerated->dtype == DType::kF32 && read_number(*tolerated, 0) == 1.f;
      if (!one)
        problem("bad_global", Errc::kCorrupt, tolerated->name,
                fmt::format("{} is not 1, and a {} weight has no global scale", tolerated->name,
                            format_label(m.reading.format)));
    }
    if (m.global_tensor != nullptr) read_global(m, index_in(*m.global_tensor, m, part));
    if (m.activation_tensor != nullptr) read_activation(m, index_in(*m.activation_tensor, m, part));
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

  void read_global(Module& m, std::int64_t index) {
    const float stored = read_number(*m.global_tensor, index);
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
    const Extent bytes{m.reading.extent.rows, row_bytes(m.reading.format, m.reading.extent.cols)};
    const std::int64_t step = std::max<std::int64_t>(1, (1 << 20) / std::max<std::int64_t>(1, bytes.cols));
    for (std::int64_t row = 0; row < bytes.rows; row += step) {
      const Extent part{std::min(step, bytes.rows - row), bytes.cols};
      std::vector<std::byte> piece(static_cast<std::size_t>(part.count()));
      take_grid(container_, *m.codes, m.reading.codes, 1, part, row, piece);
      for (const std::byte b : piece)
        if ((b & magnitude) != std::byte{0}) return false;
    }
    return true;
  }

  void read_activation(Module& m, std::int64_t index) {
    const std::optional<DeclaredScheme>& declared = m.reading.declared;
    if (declared && declared->activation == ActivationScheme::kNone) return;  // declared weight-only: left over
    const float stored = read_number(*m.activation_tensor, index);
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

  void problem(std::string code, Errc error, std::string tensor, std::string message, bool harmless = false) {
    scan_.add_problem({std::move(code), error, std::move(tensor), std::move(message), harmless});
  }

  const Container& container_;
  CheckpointScan& scan_;
  std::vector<StoredGlobals> globals_;
  Json layer_notes_;
  std::optional<std::set<std::int64_t>> widths_;
  std::optional<Evidence> evidence_;
};

}  // namespace

void CheckpointScan::add_problem(Problem problem) {
  // What all the modules of a bank share is wrong once.
  if (!problems.empty() && problems.back().code == problem.code && problems.back().message == problem.message) return;
  problems.push_back(std::move(problem));
}

CheckpointScan scan_checkpoint(const Container& container, std::optional<ModelConfig> config) {
  CheckpointScan scan;
  Scanner(container, scan).run(std::move(config));
  return scan;
}

}  // namespace tessera
