#include "tessera/io/dialects/fbgemm_fp8.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_fbgemm_fp8(const ModelConfig& config) {
  const Json* q = quantization_by(config, "fbgemm_fp8");
  if (q == nullptr) return nullptr;
  auto declaration = std::make_unique<UniformDeclaration>(
      "fbgemm-fp8", "transformers", *q,
      DeclaredScheme{.label = "fbgemm_fp8", .family = "FP8", .activation = ActivationScheme::kDynamic});
  declaration->exclude(q->find("modules_to_not_convert"));
  return declaration;
}

}  // namespace tessera::dialects
