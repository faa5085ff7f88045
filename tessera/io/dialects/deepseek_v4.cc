#include "tessera/io/dialects/deepseek_v4.h"

#include "tessera/io/dialects/fp8_block.h"

namespace tessera::dialects {

// The words of block FP8, with a word about the experts. Which modules are experts, tensors tell.
std::unique_ptr<Declaration> read_deepseek_v4(const ModelConfig& config) {
  const Json* q = quantization_by(config, "fp8");
  if (q == nullptr || (config.config.find("expert_dtype") == nullptr && q->find("expert_dtype") == nullptr))
    return nullptr;
  auto declaration = std::make_unique<UniformDeclaration>(
      "deepseek-v4", "deepseek", *q,
      DeclaredScheme{.label = "fp8 and fp4 experts", .family = "", .activation = ActivationScheme::kDynamic});
  declaration->block = read_fp8_block(config)->block;
  declaration->names_modules = false;
  return declaration;
}

}  // namespace tessera::dialects
