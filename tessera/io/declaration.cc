#include "tessera/io/declaration.h"

#include <array>

#include "tessera/base/error.h"
#include "tessera/io/container.h"

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

std::string_view activation_name(ActivationScheme scheme) {
  return std::array{"none", "dynamic", "static"}[static_cast<std::size_t>(scheme)];
}

std::string_view format_family(const Format& format) {
  if (format.is_dense()) return "";
  const bool four = format.element == kE2M1;
  if (format.scale == kE4M3) return "NVFP4";
  if (format.scale == kE8M0 && format.block.rows == 1) return four ? "MXFP4" : "MXFP8";
  return "FP8";
}

}  // namespace tessera
