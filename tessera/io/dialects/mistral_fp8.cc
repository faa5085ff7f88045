#include "tessera/io/dialects/mistral_fp8.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_mistral_fp8(const ModelConfig& config) {
  const Json* q = quantization_by(config, "fp8");
  if (q == nullptr || q->string_or("activation_scheme", "") != "static") return nullptr;
  const Json* block = q->find("weight_block_size");
  if (block != nullptr && !block->is_null()) return nullptr;
  auto declaration = std::make_unique<UniformDeclaration>(
      "mistral-fp8", "mistral", *q,
      DeclaredScheme{.label = "fp8 static", .family = "FP8", .activation = ActivationScheme::kStatic});
  for (const std::string_view key : {"modules_to_not_convert", "ignored_layers"}) declaration->exclude(q->find(key));
  return declaration;
}

}  // namespace tessera::dialects
