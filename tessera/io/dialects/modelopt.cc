#include "tessera/io/dialects/modelopt.h"

#include <algorithm>
#include <cctype>

#include "tessera/io/module_names.h"
#include "tessera/io/patterns.h"

namespace tessera::dialects {
namespace {

constexpr std::string_view kVersion = "0.47.0";  // the release whose files ours are like

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

DeclaredScheme scheme_of_algo(std::string algo) {
  algo = upper(std::move(algo));
  DeclaredScheme scheme{.label = algo, .family = "", .activation = ActivationScheme::kStatic};
  if (algo.find("MXFP8") != std::string::npos)
    scheme = {.label = algo, .family = "MXFP8", .activation = ActivationScheme::kDynamic};
  else if (algo.find("MXFP4") != std::string::npos)
    scheme = {.label = algo, .family = "MXFP4", .activation = ActivationScheme::kDynamic};
  else if (algo.find("NVFP4") != std::string::npos)
    scheme.family = "NVFP4";
  else if (algo.starts_with("FP8"))
    scheme.family = "FP8";
  if (algo.starts_with("W4A16") || algo.starts_with("W8A16") || algo == "FP8_PB_WO")
    scheme.activation = ActivationScheme::kNone;
  if (algo == "FP8_PER_CHANNEL_PER_TOKEN") scheme.activation = ActivationScheme::kDynamic;
  if (algo.starts_with("FP8_PB")) scheme.block = Block{128, 128};
  return scheme;
}

class ModeloptDeclaration final : public Declaration {
 public:
  // `json`: the object that holds quant_algo; `producer` may stand beside it or above.
  ModeloptDeclaration(const Json& json, const Json* producer, std::string file) {
    dialect = "modelopt";
    where = std::move(file);
    text = json;
    exporter = producer != nullptr ? producer->string_or("name", "modelopt") : "modelopt";
    version = producer != nullptr ? producer->string_or("version", "") : "";
    for (const std::string_view key : {"exclude_modules", "ignore"})
      if (const Json* list = json.find(key); list != nullptr && list->is_array())
        for (const Json& entry : list->as_array())
          if (entry.is_string()) excluded_.push_back(entry.as_string());
    algo_ = json.string_or("quant_algo", "");
    if (const Json* layers = json.find("quantized_layers"); layers != nullptr && layers->is_object())
      for (const auto& [name, layer] : layers->as_object())
        layers_.emplace(name, scheme_of_algo(layer.string_or("quant_algo", "")));
    if (algo_.empty() && layers_.empty()) infer_from_groups(json);
    names_modules = !algo_.empty() || !layers_.empty();
  }

  std::optional<DeclaredScheme> scheme_of(std::string_view module) const override {
    const std::vector<std::string> names = name_variants(module);
    for (const std::string& pattern : excluded_)
      for (const std::string& name : names)
        if (glob_matches(pattern, name) ||
            (pattern.ends_with('*') && name + "." == pattern.substr(0, pattern.size() - 1)))
          return {};
    if (!layers_.empty()) {  // the exact name, then its parents ("…mlp.experts")
      for (std::string name : names) {
        while (true) {
          const auto it = layers_.find(name);
          if (it != layers_.end()) return it->second;
          const std::size_t dot = name.rfind('.');
          if (dot == std::string::npos) break;
          name.resize(dot);
        }
      }
      return {};
    }
    if (algo_.empty()) return {};
    return scheme_of_algo(algo_);
  }

 private:
  // Re-exports without quant_algo: the first group's bits.
  void infer_from_groups(const Json& json) {
    const Json* groups = json.find("config_groups");
    if (groups == nullptr || !groups->is_object() || groups->as_object().empty()) return;
    const Json* weights = groups->as_object()[0].second.find("weights");
    const Json* bits = weights != nullptr ? weights->find("num_bits") : nullptr;
    if (bits != nullptr && bits->is_integer()) algo_ = bits->as_int64() == 4 ? "NVFP4" : "FP8";
  }

  std::string algo_;
  std::vector<std::string> excluded_;
  std::map<std::string, DeclaredScheme, std::less<>> layers_;
};

// Its own spellings, lower case where its exporter has them so.
std::string algo_of(const WrittenModule& m) {
  const std::string_view family = format_family(m.format);
  if (family == "NVFP4") {
    if (m.format.block.cols == 32) return "W4A8_NVFP4_FP8";
    return m.activation == ActivationScheme::kNone ? "W4A16_NVFP4" : "NVFP4";
  }
  if (family == "MXFP4") return "mxfp4";
  if (family == "MXFP8") return "MXFP8";
  if (m.format.block == Block{0, 0}) return "FP8";
  return m.format.block == Block{0, 1} ? "FP8_PER_CHANNEL_PER_TOKEN" : "fp8_pb_wo";
}

Json operand(std::int64_t bits, std::int64_t group_size) {
  Json o;
  o.set("dynamic", false);
  o.set("num_bits", bits);
  o.set("type", "float");
  if (group_size > 0) o.set("group_size", group_size);
  return o;
}

// The group that stands for an algorithm in config_groups.
Json group_of(const std::string& algo, const Format& format, Json targets) {
  Json group;
  const std::int64_t size = format.block.cols;
  if (algo == "FP8" || algo == "FP8_PER_CHANNEL_PER_TOKEN") {
    group.set("input_activations", operand(8, 0));
    Json& weights = group.set("weights", operand(8, 0));
    if (algo != "FP8") weights.set("strategy", "channel");
  } else if (algo == "NVFP4" || algo == "MXFP8") {
    group.set("input_activations", operand(format.element.bits(), size));
    group.set("weights", operand(format.element.bits(), size));
  } else if (algo == "W4A16_NVFP4") {
    group.set("weights", operand(4, size));
  } else if (algo == "W4A8_NVFP4_FP8") {
    group.set("input_activations", operand(8, 0));
    group.set("weights", operand(4, size));
  } else {
    group.set("quant_algo", algo);
  }
  group.set("targets", std::move(targets));
  return group;
}

struct AlgoGroup {
  std::string algo;
  Format format;
  Json names = JsonArray{};
};

std::vector<AlgoGroup> groups_by_algo(const WrittenModel& model) {
  std::vector<AlgoGroup> groups;
  for (const WrittenModule& m : model.quantized) {
    const std::string algo = algo_of(m);
    auto it = std::find_if(groups.begin(), groups.end(), [&](const AlgoGroup& g) { return g.algo == algo; });
    if (it == groups.end()) it = groups.insert(it, {algo, m.format});
    it->names.push(m.name);
  }
  return groups;
}

// Alone, these have no config_groups in its exporter's files.
bool stands_alone_in_groups(const std::string& algo) {
  return algo == "FP8" || algo == "NVFP4" || algo == "W4A16_NVFP4";
}

// quantized_layers of a mixed model, in both files.
Json layers_of(const WrittenModel& model) {
  Json layers = JsonObject{};
  auto& entries = layers.as_object();  // names are unique already
  for (const WrittenModule& m : model.quantized) {
    Json layer;
    layer.set("quant_algo", algo_of(m));
    if (format_family(m.format) == "NVFP4") layer.set("group_size", m.format.block.cols);
    entries.emplace_back(m.name, std::move(layer));
  }
  return layers;
}

}  // namespace

std::unique_ptr<Declaration> modelopt_declaration(const Json& json, const Json* producer, std::string file) {
  return std::make_unique<ModeloptDeclaration>(json, producer, std::move(file));
}

std::unique_ptr<Declaration> read_modelopt(const ModelConfig& config) {
  const Json* q = config.quantization();
  if (q != nullptr && q->string_or("quant_method", "").starts_with("modelopt"))
    return std::make_unique<ModeloptDeclaration>(*q, q->find("producer"), "config.json");
  const Json* sidecar = config.sidecar.find("quantization");
  if (sidecar != nullptr && sidecar->is_object() && q == nullptr)
    return std::make_unique<ModeloptDeclaration>(*sidecar, config.sidecar.find("producer"), "hf_quant_config.json");
  return nullptr;
}

void write_modelopt(const WrittenModel& model, ModelConfig& config) {
  std::vector<std::string> all(model.dense);
  for (const WrittenModule& m : model.quantized) all.push_back(m.name);
  const std::vector<AlgoGroup> groups = groups_by_algo(model);
  const bool mixed = groups.size() > 1, cache = model.cache_scales == CacheScales::kPresent;
  const std::string algo = mixed ? "MIXED_PRECISION" : groups.empty() ? "" : groups[0].algo;
  Json producer, excluded = JsonArray{};
  producer.set("name", "modelopt");
  producer.set("version", kVersion);
  for (std::string& name : cover_names_by_globs(model.dense, all)) excluded.push(std::move(name));

  Json sidecar;
  sidecar.set("quant_algo", algo);
  sidecar.set("kv_cache_quant_algo", cache ? Json("FP8") : Json());
  const bool has_size =
      !mixed && !groups.empty() && groups[0].format.block.rows == 1 && groups[0].format.block.cols > 1;
  if (has_size && algo != "mxfp4") sidecar.set("group_size", groups[0].format.block.cols);
  if (mixed) sidecar.set("quantized_layers", layers_of(model));
  sidecar.set("exclude_modules", excluded);
  config.sidecar = Json();
  config.sidecar.set("producer", producer);
  config.sidecar.set("quantization", std::move(sidecar));

  Json q;
  if (mixed || stands_alone_in_groups(algo)) {
    Json& list = q.set("config_groups", JsonObject{});
    for (std::size_t i = 0; i < groups.size(); ++i)
      list.set(fmt::format("group_{}", i),
               group_of(groups[i].algo, groups[i].format, mixed ? groups[i].names : Json(JsonArray{"Linear"})));
  }
  if (mixed) q.set("quantized_layers", layers_of(model));
  q.set("ignore", std::move(excluded));
  q.set("quant_algo", algo);
  if (cache) q.set("kv_cache_scheme", operand(8, 0));
  q.set("producer", std::move(producer));
  q.set("quant_method", "modelopt");
  config.config.set("quantization_config", std::move(q));
}

}  // namespace tessera::dialects
