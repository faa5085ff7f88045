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

std::string algo_of(const WrittenModule& m) {
  const std::string_view family = format_family(m.format);
  if (family == "NVFP4") {
    if (m.format.block.cols == 32) return "W4A8_NVFP4_FP8";
    return m.activation == ActivationScheme::kNone ? "W4A16_NVFP4" : "NVFP4";
  }
  if (family != "FP8") return std::string(family);
  if (m.format.block == Block{0, 0}) return "FP8";
  return m.format.block == Block{0, 1} ? "FP8_PER_CHANNEL_PER_TOKEN" : "FP8_PB_WO";
}

}  // namespace

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
  std::vector<std::string> all(model.dense), algos;
  for (const WrittenModule& m : model.quantized) {
    all.push_back(m.name);
    const std::string algo = algo_of(m);
    if (std::find(algos.begin(), algos.end(), algo) == algos.end()) algos.push_back(algo);
  }
  Json producer;
  producer.set("name", "modelopt");
  producer.set("version", kVersion);
  Json q;
  q.set("quant_algo", algos.size() == 1 ? Json(algos[0]) : Json("MIXED_PRECISION"));
  q.set("kv_cache_quant_algo", model.has_kv_scales ? Json("FP8") : Json());
  const bool fours =
      algos.size() == 1 && !model.quantized.empty() && format_family(model.quantized[0].format) == "NVFP4";
  if (fours) q.set("group_size", model.quantized[0].format.block.cols);
  if (algos.size() > 1) {
    Json& layers = q.set("quantized_layers", JsonObject{});
    for (const WrittenModule& m : model.quantized) {
      Json layer;
      layer.set("quant_algo", algo_of(m));
      if (format_family(m.format) == "NVFP4") layer.set("group_size", m.format.block.cols);
      layers.set(m.name, std::move(layer));
    }
  }
  Json excluded = JsonArray{};
  for (std::string& name : cover_names_by_globs(model.dense, all)) excluded.push(std::move(name));
  Json embedded = q;
  embedded.erase("kv_cache_quant_algo");
  q.set("exclude_modules", excluded);
  config.sidecar = Json();
  config.sidecar.set("producer", producer);
  config.sidecar.set("quantization", std::move(q));
  embedded.set("ignore", std::move(excluded));
  if (model.has_kv_scales) {
    Json& kv = embedded.set("kv_cache_scheme", JsonObject{});
    kv.set("dynamic", false);
    kv.set("num_bits", 8);
    kv.set("type", "float");
  }
  embedded.set("producer", std::move(producer));
  embedded.set("quant_method", "modelopt");
  config.config.set("quantization_config", std::move(embedded));
}

}  // namespace tessera::dialects
