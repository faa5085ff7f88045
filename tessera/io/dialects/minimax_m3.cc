#include "tessera/io/dialects/minimax_m3.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_minimax_m3(const ModelConfig& config) {
  const Json* q = quantization_by(config, "mxfp8");
  if (q == nullptr) return nullptr;
  auto declaration = std::make_unique<UniformDeclaration>(
      "minimax-m3", "", *q,
      DeclaredScheme{.label = "mxfp8", .family = "MXFP8", .activation = ActivationScheme::kDynamic});
  for (const std::string_view key : {"modules_to_not_convert", "ignored_layers"}) declaration->exclude(q->find(key));
  return declaration;
}

}  // namespace tessera::dialects
