#include "tessera/io/dialects/compressed_tensors.h"

#include <array>
#include <set>

#include "tessera/io/module_names.h"
#include "tessera/io/patterns.h"

namespace tessera::dialects {
namespace {

// A target or an ignored name: "re:PATTERN", an exact name, or a class of modules.
class Target final {
 public:
  explicit Target(const std::string& text) : text_(text) {
    if (text.starts_with("re:")) regex_.emplace(std::string_view(text).substr(3));
  }
  bool is_exact(std::string_view name) const { return !regex_ && text_ == name; }
  bool is_regex_of(std::string_view name) const { return regex_ && regex_->matches_at_start(name); }
  bool is_linear() const { return text_ == "Linear"; }

 private:
  std::string text_;
  std::optional<Regex> regex_;
};

struct Group {
  std::vector<Target> targets;
  DeclaredScheme scheme;
};

std::vector<Target> read_targets(const Json* list) {
  std::vector<Target> targets;
  if (list == nullptr || !list->is_array()) return targets;
  for (const Json& entry : list->as_array())
    if (entry.is_string()) targets.emplace_back(entry.as_string());
  return targets;
}

std::int64_t integer_or(const Json& object, std::string_view key, std::int64_t otherwise) {
  const Json* value = object.find(key);
  return value != nullptr && value->is_integer() ? value->as_int64() : otherwise;
}

DeclaredScheme scheme_of_weights(const Json& weights) {
  const std::int64_t bits = integer_or(weights, "num_bits", 0), group = integer_or(weights, "group_size", 0);
  const std::string type = weights.string_or("type", "float"), strategy = weights.string_or("strategy", "");
  DeclaredScheme scheme{.label = fmt::format("{}{} {}", type == "float" ? "FP" : "INT", bits, strategy), .family = ""};
  if (type != "float") return scheme;
  if (bits == 4) scheme.family = group == 32 ? "MXFP4" : "NVFP4";
  if (bits == 8) scheme.family = group == 32 ? "MXFP8" : "FP8";
  const Json* block = weights.find("block_structure");
  if (block != nullptr && block->is_array() && block->as_array().size() == 2) {
    const Json &rows = block->as_array()[0], &cols = block->as_array()[1];
    if (rows.is_integer() && cols.is_integer() && rows.as_int64() > 0 && cols.as_int64() > 0)
      scheme.block = Block{cols.as_int64(), rows.as_int64()};
  }
  return scheme;
}

// A preset's name instead of a scheme: "NVFP4A16".
DeclaredScheme scheme_of_preset(const std::string& preset) {
  DeclaredScheme scheme{.label = preset,
                        .family = "",
                        .activation = preset.ends_with("A16") ? ActivationScheme::kNone : ActivationScheme::kDynamic};
  for (const std::string_view family : {"NVFP4", "MXFP4", "MXFP8", "FP8"})
    if (scheme.family.empty() && preset.starts_with(family)) scheme.family = family;
  if (preset == "FP8") scheme.activation = ActivationScheme::kStatic;
  return scheme;
}

ActivationScheme activation_of(const Json* activations) {
  if (activations == nullptr || !activations->is_object()) return ActivationScheme::kNone;
  const Json* dynamic = activations->find("dynamic");
  const bool is_dynamic = dynamic != nullptr && dynamic->is_bool() && dynamic->as_bool();
  return is_dynamic ? ActivationScheme::kDynamic : ActivationScheme::kStatic;
}

class CompressedTensorsDeclaration final : public Declaration {
 public:
  explicit CompressedTensorsDeclaration(const Json& json) {
    dialect = "compressed-tensors";
    where = "config.json";
    text = json;
    const std::string provider = json.string_or("provider", "");
    exporter = provider.empty() ? "llm-compressor" : provider;
    version = json.string_or("version", "");
    ignored_ = read_targets(json.find("ignore"));
    if (const Json* groups = json.find("config_groups"); groups != nullptr && groups->is_object())
      for (const auto& [name, group] : groups->as_object())
        add_group(name, group, provider, json.string_or("format", ""));
    names_modules = !groups_.empty();
  }

  std::optional<DeclaredScheme> scheme_of(std::string_view module) const override {
    const std::vector<std::string> names = name_variants(module);
    for (const Target& t : ignored_)
      for (const std::string& name : names)
        if (t.is_exact(name) || t.is_regex_of(name)) return {};
    // Exact names come before patterns, and those before classes.
    const std::array<bool (*)(const Target&, std::string_view), 3> order{
        [](const Target& t, std::string_view n) { return t.is_exact(n); },
        [](const Target& t, std::string_view n) { return t.is_regex_of(n); },
        [](const Target& t, std::string_view) { return t.is_linear(); }};
    for (const auto hit : order)
      for (const Group& group : groups_)
        for (const Target& t : group.targets)
          for (const std::string& name : names)
            if (hit(t, name)) return group.scheme;
    return {};
  }

 private:
  void add_group(const std::string& name, const Json& group, const std::string& provider, const std::string& format) {
    Group read;
    if (group.is_array()) {
      read = {read_targets(&group), scheme_of_preset(name)};
    } else {
      const Json* weights = group.find("weights");
      if (weights == nullptr || !weights->is_object()) return;
      read = {read_targets(group.find("targets")), scheme_of_weights(*weights)};
      read.scheme.activation = activation_of(group.find("input_activations"));
      if (group.string_or("format", format) == kE5m3Packed) read.scheme.family = "nvfp4_e5m3";
    }
    // AutoRound's modules divide the code by the global before they multiply by the block's scale.
    if (provider == "auto-round") read.scheme.sense = Sense::kReciprocalFirst;
    groups_.push_back(std::move(read));
  }

  std::vector<Target> ignored_;
  std::vector<Group> groups_;
};

Json arguments(std::int64_t bits, std::string_view strategy, Json dynamic, Json group_size) {
  Json a;
  a.set("actorder", nullptr);
  a.set("block_structure", nullptr);
  a.set("dynamic", std::move(dynamic));
  a.set("group_size", std::move(group_size));
  a.set("num_bits", bits);
  a.set("observer", nullptr);
  a.set("observer_kwargs", JsonObject{});
  a.set("scale_dtype", nullptr);
  a.set("strategy", strategy);
  a.set("symmetric", true);
  a.set("type", "float");
  a.set("zp_dtype", nullptr);
  return a;
}

Json weights_of(const Format& format) {
  const std::string_view family = format_family(format);
  const std::int64_t bits = format.element.bits();
  if (family == "NVFP4") {
    Json w = arguments(bits, "tensor_group", false, format.block.cols);
    w.set("scale_dtype", "torch.float8_e4m3fn");
    return w;
  }
  if (family == "MXFP4" || family == "MXFP8") {
    Json w = arguments(bits, "group", false, format.block.cols);
    w.set("scale_dtype", "torch.uint8");
    return w;
  }
  if (format.block == Block{0, 0}) return arguments(bits, "tensor", false, nullptr);
  if (format.block == Block{0, 1}) return arguments(bits, "channel", false, nullptr);
  Json w = arguments(bits, "block", false, nullptr);
  w.set("block_structure", JsonArray{format.block.rows, format.block.cols});
  return w;
}

Json activations_of(const Format& format, ActivationScheme activation) {
  if (activation == ActivationScheme::kNone) return nullptr;
  const std::string_view family = format_family(format);
  const std::int64_t bits = format.element.bits();
  if (family == "NVFP4") {
    Json a = arguments(bits, "tensor_group", "local", format.block.cols);
    a.set("scale_dtype", "torch.float8_e4m3fn");
    return a;
  }
  if (family != "FP8") {
    Json a = arguments(bits, "group", true, format.block.cols);
    a.set("scale_dtype", "torch.uint8");
    return a;
  }
  if (activation == ActivationScheme::kStatic) return arguments(bits, "tensor", false, nullptr);
  if (format.block.rows > 1) return arguments(bits, "group", true, format.block.cols);
  return arguments(bits, "token", true, nullptr);
}

std::string_view compressor_of(const Format& format, ActivationScheme activation) {
  const std::string_view family = format_family(format);
  if (family == "NVFP4") return "nvfp4-pack-quantized";
  if (family == "MXFP4") return "mxfp4-pack-quantized";
  if (family == "MXFP8") return "mxfp8-quantized";
  return activation == ActivationScheme::kNone ? "naive-quantized" : "float-quantized";
}

struct Kind {  // what modules of one group have in common
  Format format;
  ActivationScheme activation;
  bool operator==(const Kind&) const = default;
};

Json group_of(const Kind& kind, std::vector<std::string> targets) {
  Json group;
  group.set("format", compressor_of(kind.format, kind.activation));
  group.set("input_activations", activations_of(kind.format, kind.activation));
  group.set("output_activations", nullptr);
  Json& list = group.set("targets", JsonArray{});
  for (std::string& t : targets) list.push(std::move(t));
  group.set("weights", weights_of(kind.format));
  return group;
}

}  // namespace

std::unique_ptr<Declaration> read_compressed_tensors(const ModelConfig& config) {
  const Json* q = config.quantization();
  if (q == nullptr || q->string_or("quant_method", "") != "compressed-tensors") return nullptr;
  return std::make_unique<CompressedTensorsDeclaration>(*q);
}

void write_compressed_tensors(const WrittenModel& model, ModelConfig& config) {
  std::vector<Kind> kinds;
  std::vector<std::vector<std::string>> members;
  std::vector<std::string> all(model.dense);
  for (const WrittenModule& m : model.quantized) {
    const Kind kind{m.format, m.activation};
    const auto at = static_cast<std::size_t>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
    if (at == kinds.size()) {
      kinds.push_back(kind);
      members.emplace_back();
    }
    members[at].push_back(m.name);
    all.push_back(m.name);
  }
  Json q, groups = JsonObject{}, ignore = JsonArray{};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    std::vector<std::string> targets =
        kinds.size() == 1 ? std::vector<std::string>{"Linear"} : cover_names(members[i], all);
    groups.set(fmt::format("group_{}", i), group_of(kinds[i], std::move(targets)));
  }
  for (std::string& name : cover_names(model.dense, all)) ignore.push(std::move(name));
  q.set("config_groups", std::move(groups));
  q.set("format", kinds.size() == 1 ? compressor_of(kinds[0].format, kinds[0].activation) : "mixed-precision");
  q.set("global_compression_ratio", nullptr);
  q.set("ignore", std::move(ignore));
  q.set("kv_cache_scheme",
        model.cache_scales == CacheScales::kPresent ? arguments(8, "tensor", false, nullptr) : Json());
  q.set("quant_method", "compressed-tensors");
  q.set("quantization_status", "compressed");
  q.set("sparsity_config", JsonObject{});
  q.set("transform_config", JsonObject{});
  q.set("version", "0.19.0");  // the release whose bytes these are
  config.config.set("quantization_config", std::move(q));
}

}  // namespace tessera::dialects
