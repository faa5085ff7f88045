#include "tessera/io/dialects/modelopt_diffusers.h"

#include "tessera/base/error.h"
#include "tessera/io/dialects/modelopt.h"

namespace tessera::dialects {
namespace {

constexpr std::string_view kKey = "quantization_config", kLayersKey = "_quantization_metadata";

}  // namespace

std::unique_ptr<Declaration> read_modelopt_diffusers(const ModelConfig& config) {
  const auto text = config.metadata.find(kKey);
  if (text == config.metadata.end()) return nullptr;
  try {
    const Json json = parse_json(text->second);
    require(json.is_object(), Errc::kCorrupt, "the metadata '{}' holds no JSON object", kKey);
    if (!json.string_or("quant_method", "").starts_with("modelopt")) return nullptr;
    std::unique_ptr<Declaration> declaration = modelopt_declaration(json, json.find("producer"), "the file's metadata");
    declaration->dialect = "modelopt-diffusers";
    return declaration;
  } catch (Error& e) {
    e.add_note(fmt::format("reading the metadata '{}'", kKey));
    throw;
  }
}

std::optional<Claim> claim_modelopt_diffusers(std::string_view, const ModuleTensors& tensors,
                                              const Evidence& evidence) {
  const auto weight = tensors.find("weight"), scales = tensors.find("weight_scale");
  if (weight == tensors.end() || scales == tensors.end() || !evidence.config.metadata.contains(kKey)) return {};
  if (weight->second->type == "F8_E4M3") return Claim{.format = "fp8"};
  if (weight->second->type != "U8" || weight->second->shape.size() != 2) return {};
  const Extent grid{weight->second->shape[0], weight->second->shape[1] / 8};
  const bool rows = scales->second->shape == std::vector{grid.rows, grid.cols},
             tiles = has_tiles(*scales->second, grid);
  Claim claim{.format = "nvfp4", .scale_order = tiles ? GridOrder::kTiles : GridOrder::kRows};
  if (!rows || !tiles) return claim;
  if (evidence.tiles) {
    claim.scale_order = *evidence.tiles ? GridOrder::kTiles : GridOrder::kRows;
    return claim;
  }
  claim.refusal = fmt::format(
      "{} is [{}], which is the same in rows and in tiles, and no other weight of the file tells which it is",
      scales->second->name, fmt::join(scales->second->shape, ", "));
  return claim;
}

void write_modelopt_diffusers(const WrittenModel& model, ModelConfig& config) {
  ModelConfig declared{.config = JsonObject{}, .sidecar = {}, .metadata = {}};
  write_modelopt(model, declared);
  config.metadata.insert_or_assign(std::string(kKey), declared.config.find("quantization_config")->dump());
  Json layers = JsonObject{}, all;
  for (const WrittenModule& m : model.quantized) {
    Json layer;
    layer.set("format", m.format.name == "nvfp4" ? "nvfp4" : "float8_e4m3fn");
    layers.as_object().emplace_back(m.name, std::move(layer));
  }
  all.set("format_version", "1.0");
  all.set("layers", std::move(layers));
  config.metadata.insert_or_assign(std::string(kLayersKey), all.dump());
}

}  // namespace tessera::dialects
