#include "tessera/io/dialects/ltx2.h"

namespace tessera::dialects {

std::optional<Claim> claim_ltx2(std::string_view module, const ModuleTensors& tensors, const Evidence& evidence) {
  const bool named =
      module.starts_with("model.diffusion_model.") && module.find("transformer_blocks.") != std::string_view::npos;
  const auto weight = tensors.find("weight"), scales = tensors.find("weight_scale");
  if (!named || weight == tensors.end() || scales == tensors.end() || tensors.contains("comfy_quant")) return {};
  if (evidence.config.metadata.contains("_quantization_metadata") ||
      evidence.config.metadata.contains("quantization_config"))
    return {};
  if (weight->second->type == "F8_E4M3") return Claim{.format = "fp8"};
  if (weight->second->type != "U8" || weight->second->shape.size() != 2) return {};
  const Extent grid{weight->second->shape[0], weight->second->shape[1] / 8};
  if (!has_tiles(*scales->second, grid)) return {};
  return Claim{};
}

}  // namespace tessera::dialects
