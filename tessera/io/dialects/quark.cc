#include "tessera/io/dialects/quark.h"

#include "tessera/io/patterns.h"

namespace tessera::dialects {
namespace {

// One specification of a weight; NVFP4 is a list of two, the codes' and the block scales'.
DeclaredScheme scheme_of(const Json& config) {
  DeclaredScheme scheme{.label = "", .family = ""};
  const Json* weight = config.find("weight");
  const bool two = weight != nullptr && weight->is_array() && !weight->as_array().empty();
  const Json* first = two ? &weight->as_array()[0] : weight;
  if (first == nullptr || !first->is_object()) return scheme;
  const std::string dtype = first->string_or("dtype", ""), scheme_name = first->string_or("qscheme", "");
  scheme.label = dtype + " " + scheme_name;
  if (dtype == "fp4") scheme.family = two ? "NVFP4" : "MXFP4";
  if (dtype == "fp6_e2m3" || dtype == "fp6_e3m2") scheme.family = "mx" + dtype;  // the format's name
  if (dtype == "fp8_e4m3") scheme.family = scheme_name == "per_group" ? "MXFP8" : "FP8";
  const Json* inputs = config.find("input_tensors");
  const Json* input =
      inputs != nullptr && inputs->is_array() && !inputs->as_array().empty() ? &inputs->as_array()[0] : inputs;
  if (input == nullptr || !input->is_object()) return scheme;
  const Json* dynamic = input->find("is_dynamic");
  scheme.activation = dynamic != nullptr && dynamic->is_bool() && dynamic->as_bool() ? ActivationScheme::kDynamic
                                                                                     : ActivationScheme::kStatic;
  return scheme;
}

class QuarkDeclaration final : public Declaration {
 public:
  explicit QuarkDeclaration(const Json& json) {
    dialect = "quark";
    where = "config.json";
    exporter = "quark";
    version = json.string_or("version", "");
    text = json;
    names_modules = false;  // its exporter leaves fused experts dense that it neither lists nor excludes
    if (const Json* global = json.find("global_quant_config"); global != nullptr && global->is_object())
      all_ = tessera::dialects::scheme_of(*global);
    if (const Json* layers = json.find("layer_quant_config"); layers != nullptr && layers->is_object())
      for (const auto& [pattern, config] : layers->as_object())
        if (config.is_object()) layers_.emplace_back(pattern, tessera::dialects::scheme_of(config));
    if (const Json* list = json.find("exclude"); list != nullptr && list->is_array())
      for (const Json& entry : list->as_array())
        if (entry.is_string()) excluded_.push_back(entry.as_string());
  }

  std::optional<DeclaredScheme> scheme_of(std::string_view module) const override {
    for (const std::string& name : excluded_) {
      if (name.starts_with("re:") ? Regex(name.substr(3)).matches_at_start(module) : names(name, module)) return {};
    }
    for (const auto& [pattern, scheme] : layers_)
      if (names(pattern, module)) return scheme;
    return all_;
  }

 private:
  static bool names(const std::string& pattern, std::string_view module) {
    return pattern.find('*') != std::string::npos ? glob_matches(pattern, module) : pattern == module;
  }
  DeclaredScheme all_;
  std::vector<std::pair<std::string, DeclaredScheme>> layers_;
  std::vector<std::string> excluded_;
};

}  // namespace

std::unique_ptr<Declaration> read_quark(const ModelConfig& config) {
  const Json* q = quantization_by(config, "quark");
  return q == nullptr ? nullptr : std::make_unique<QuarkDeclaration>(*q);
}

// MXFP6 alone: four values in three bytes, so three quarters of the columns, with a scale for each 32. Of its two
// elements the configuration names one; nothing else tells.
std::optional<Claim> claim_quark(std::string_view module, const ModuleTensors& tensors, const Evidence& evidence) {
  const auto weight = tensors.find("weight"), scales = tensors.find("weight_scale");
  const Declaration* declaration = evidence.declaration;
  if (weight == tensors.end() || scales == tensors.end() || declaration == nullptr || declaration->dialect != "quark")
    return {};
  const StoredTensor &w = *weight->second, &s = *scales->second;
  const bool six = w.type == "U8" && s.type == "U8" && w.shape.size() == 2 && s.shape.size() == 2 &&
                   w.shape[1] * 4 == s.shape[1] * 32 * 3;
  if (!six) return {};
  const std::optional<DeclaredScheme> declared = declaration->scheme_of(module);
  for (const Spelling& spelling : kQuark)
    if (declared && declared->family == spelling.format) return Claim{.format = spelling.format};
  return Claim{.refusal =
                   "it is MXFP6 (four values in three bytes), and its configuration says neither fp6_e2m3 nor "
                   "fp6_e3m2"};
}

}  // namespace tessera::dialects
