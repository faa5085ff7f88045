#include "tessera/io/dialects/comfy_scaled.h"

namespace tessera::dialects {

std::optional<Claim> claim_comfy_scaled(std::string_view module, const ModuleTensors& tensors,
                                        const Evidence& evidence) {
  const auto weight = tensors.find("weight");
  if (weight == tensors.end() || !weight->second->type.starts_with("F8_E")) return {};
  if (tensors.contains("scale_weight")) return Claim{};
  // A plain cast: the weight alone, in a file without a configuration that is no language model's.
  const bool language =
      module.find("layers.") != std::string_view::npos && module.find("self_attn") != std::string_view::npos;
  if (tensors.size() > 1 || !evidence.single_file || language || weight->second->shape.size() != 2) return {};
  return Claim{};
}

}  // namespace tessera::dialects
