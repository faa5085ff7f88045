#include "tessera/io/dialects/fp8_block.h"

#include "tessera/base/error.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_fp8_block(const ModelConfig& config) {
  const Json* q = quantization_by(config, "fp8");
  if (q == nullptr) return nullptr;
  DeclaredScheme scheme{.label = "fp8", .family = "FP8", .activation = ActivationScheme::kDynamic};
  if (q->string_or("activation_scheme", "dynamic") == "static") scheme.activation = ActivationScheme::kStatic;
  const Json* size = q->find("weight_block_size");
  if (size != nullptr && size->is_array() && size->as_array().size() == 2) {
    const Json &rows = size->as_array()[0], &cols = size->as_array()[1];
    require(rows.is_integer() && cols.is_integer() && rows.as_int64() > 0 && cols.as_int64() > 0, Errc::kCorrupt,
            "config.json: weight_block_size is {}; two positive numbers are wanted", size->dump());
    scheme.block = Block{cols.as_int64(), rows.as_int64()};
  }
  auto declaration = std::make_unique<UniformDeclaration>("fp8-block", "transformers", *q, scheme);
  declaration->block = scheme.block;
  for (const std::string_view key : {"modules_to_not_convert", "ignored_layers"}) declaration->exclude(q->find(key));
  return declaration;
}

void write_fp8_block(const WrittenModel& model, ModelConfig& config) {
  Json q;
  q.set("activation_scheme", "dynamic");
  q.set("fmt", "e4m3");
  Json& excluded = q.set("modules_to_not_convert", JsonArray{});
  for (const std::string& name : model.dense) excluded.push(name);
  q.set("quant_method", "fp8");
  const Format& format = model.quantized.empty() ? find_format("fp8_block") : model.quantized[0].format;
  for (const WrittenModule& m : model.quantized)
    require(m.format.block == format.block && m.format.scale == format.scale, Errc::kUnsupported,
            "fp8-block declares one weight_block_size; {} is {} and {} is {}", model.quantized[0].name,
            format_label(format), m.name, format_label(m.format));
  if (format.scale == kE8M0) q.set("scale_fmt", "ue8m0");
  q.set("weight_block_size", JsonArray{format.block.rows, format.block.cols});
  config.config.set("quantization_config", std::move(q));
}

}  // namespace tessera::dialects
