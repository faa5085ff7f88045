#include "tessera/io/dialects/mxfp4.h"

#include "tessera/io/module_names.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_mxfp4(const ModelConfig& config) {
  const Json* q = quantization_by(config, "mxfp4");
  if (q == nullptr) return nullptr;
  auto declaration =
      std::make_unique<UniformDeclaration>("mxfp4", "gpt-oss", *q, DeclaredScheme{.label = "mxfp4", .family = "MXFP4"});
  declaration->exclude(q->find("modules_to_not_convert"));
  return declaration;
}

void write_mxfp4(const WrittenModel& model, ModelConfig& config) {
  Json q, dense = JsonArray{};
  std::vector<std::string> quantized;
  for (const WrittenModule& m : model.quantized) quantized.push_back(m.name);
  for (std::string& name : cover_names_by_globs(model.dense, quantized)) dense.push(std::move(name));
  q.set("modules_to_not_convert", std::move(dense));
  q.set("quant_method", "mxfp4");
  config.config.set("quantization_config", std::move(q));
}

}  // namespace tessera::dialects
