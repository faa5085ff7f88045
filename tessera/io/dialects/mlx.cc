#include "tessera/io/dialects/mlx.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_mlx(const ModelConfig& config) {
  const Json* q = config.config.is_object() ? config.config.find("quantization") : nullptr;
  if (q == nullptr || !q->is_object() || q->find("mode") == nullptr) return nullptr;
  const std::string mode = q->string_or("mode", "");
  DeclaredScheme scheme{.label = mode, .family = ""};
  if (mode == "nvfp4") scheme.family = "NVFP4";
  if (mode == "mxfp4") scheme.family = "MXFP4";
  if (mode == "mxfp8") scheme.family = "MXFP8";
  auto declaration = std::make_unique<UniformDeclaration>("mlx", "mlx", *q, scheme);
  declaration->names_modules = false;  // a layer may have a mode of its own; tensors tell
  return declaration;
}

std::optional<Claim> claim_mlx(std::string_view, const ModuleTensors& tensors, const Evidence&) {
  const auto weight = tensors.find("weight"), scales = tensors.find("scales");
  if (weight == tensors.end() || scales == tensors.end() || weight->second->type != "U32") return {};
  Claim claim;
  if (tensors.contains("biases") || scales->second->type != "U8")
    claim.refusal = "MLX's affine quantization holds integers, which Tessera does not read";
  return claim;
}

}  // namespace tessera::dialects
