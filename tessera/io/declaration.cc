#include "tessera/io/declaration.h"

#include <array>

#include "tessera/base/error.h"
#include "tessera/io/container.h"
#include "tessera/io/patterns.h"

namespace tessera {
namespace {

Json read_json_file(const std::string& folder, std::string_view name) {
  const std::string text = read_side_file(folder, name);
  if (text.empty()) return {};
  try {
    Json json = parse_json(text);
    require(json.is_object(), Errc::kCorrupt, "it holds no JSON object");
    return json;
  } catch (Error& e) {
    e.in_file(folder.empty() ? std::string(name) : folder + "/" + std::string(name));
    e.add_note(fmt::format("reading {}", e.file()));
    throw;
  }
}

}  // namespace

const Json* ModelConfig::quantization() const {
  for (const Json* at : {&config, config.find("text_config")}) {
    if (at == nullptr) continue;
    for (const std::string_view key : {"quantization_config", "compression_config"}) {
      const Json* found = at->find(key);
      if (found != nullptr && found->is_object()) return found;
    }
  }
  return nullptr;
}

std::optional<std::int64_t> ModelConfig::number(std::string_view key) const {
  for (const Json* at : {&config, config.find("text_config")}) {
    const Json* found = at != nullptr ? at->find(key) : nullptr;
    if (found != nullptr && found->is_integer()) return found->as_int64();
  }
  return {};
}

ModelConfig read_model_config(const std::string& folder) {
  return {.config = read_json_file(folder, "config.json"),
          .sidecar = read_json_file(folder, "hf_quant_config.json"),
          .metadata = {}};
}

UniformDeclaration::UniformDeclaration(std::string_view of, std::string_view by, const Json& json,
                                       DeclaredScheme scheme)
    : scheme_(std::move(scheme)) {
  dialect = of;
  where = "config.json";
  exporter = by;
  text = json;
}

void UniformDeclaration::exclude(const Json* names) {
  if (names == nullptr || !names->is_array()) return;
  for (const Json& entry : names->as_array())
    if (entry.is_string()) excluded_.push_back(entry.as_string());
}

std::optional<DeclaredScheme> UniformDeclaration::scheme_of(std::string_view module) const {
  const std::string dotted = fmt::format(".{}.", module);
  for (const std::string& name : excluded_) {
    if (dotted.find("." + name + ".") != std::string::npos) return {};
    if (name.find('*') != std::string::npos && (glob_matches(name, module) || glob_matches(name + ".*", module)))
      return {};
  }
  return scheme_;
}

const Json* quantization_by(const ModelConfig& config, std::string_view quant_method) {
  const Json* q = config.quantization();
  return q != nullptr && q->string_or("quant_method", "") == quant_method ? q : nullptr;
}

std::string_view activation_name(ActivationScheme scheme) {
  return std::array{"none", "dynamic", "static"}[static_cast<std::size_t>(scheme)];
}

std::string_view format_family(const Format& format) {
  if (format.is_dense()) return "";
  const int bits = format.element.bits();
  if (format.scale == kE4M3) return "NVFP4";
  if (format.scale == kE8M0 && format.block.rows == 1 && bits != 6) return bits == 4 ? "MXFP4" : "MXFP8";
  return bits == 8 ? "FP8" : format.name;  // exporters have no one word for the others
}

}  // namespace tessera
