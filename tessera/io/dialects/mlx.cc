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

namespace {

// The format of a module: its own, or the model's.
std::string_view mode_of(std::string_view module, const ModelConfig& config) {
  const Json* q = config.config.is_object() ? config.config.find("quantization") : nullptr;
  if (q == nullptr || !q->is_object()) return "";
  const Json* own = q->find(module);
  const std::string mode = own != nullptr && own->is_object() ? own->string_or("mode", "") : q->string_or("mode", "");
  for (const Spelling& s : kMlx)
    if (s.format == mode) return s.format;
  return "";
}

}  // namespace

// Of rows of one scale the shape tells no format: 4 words are 32 codes of MXFP4 or 16 of MXFP8. There the mode does.
std::optional<Claim> claim_mlx(std::string_view module, const ModuleTensors& tensors, const Evidence& evidence) {
  const auto weight = tensors.find("weight"), scales = tensors.find("scales");
  if (weight == tensors.end() || scales == tensors.end() || weight->second->type != "U32") return {};
  Claim claim;
  if (tensors.contains("biases") || scales->second->type != "U8")
    claim.refusal = "MLX's affine quantization holds integers, which Tessera does not read";
  else if (!scales->second->shape.empty() && scales->second->shape.back() == 1)
    claim.format = mode_of(module, evidence.config);
  return claim;
}

}  // namespace tessera::dialects
