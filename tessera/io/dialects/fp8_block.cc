#include "tessera/io/dialects/fp8_block.h"

#include <algorithm>

#include "tessera/io/module_names.h"

namespace tessera::dialects {
namespace {

class Fp8Declaration final : public Declaration {
 public:
  explicit Fp8Declaration(const Json& json) {
    dialect = "fp8-block";
    where = "config.json";
    text = json;
    exporter = "transformers";
    scheme_ = {.label = "fp8", .family = "FP8", .activation = ActivationScheme::kDynamic};
    if (json.string_or("activation_scheme", "dynamic") == "static") scheme_.activation = ActivationScheme::kStatic;
    const Json* size = json.find("weight_block_size");
    if (size != nullptr && size->is_array() && size->as_array().size() == 2) {
      const Json &rows = size->as_array()[0], &cols = size->as_array()[1];
      require(rows.is_integer() && cols.is_integer() && rows.as_int64() > 0 && cols.as_int64() > 0, Errc::kCorrupt,
              "config.json: weight_block_size is {}; two positive numbers are wanted", size->dump());
      block = scheme_.block = Block{cols.as_int64(), rows.as_int64()};
    }
    for (const std::string_view key : {"modules_to_not_convert", "ignored_layers"})
      if (const Json* list = json.find(key); list != nullptr && list->is_array())
        for (const Json& entry : list->as_array())
          if (entry.is_string()) excluded_.push_back(entry.as_string());
  }

  // An excluded name is a part of the dotted name, or several: "gate" is "mlp.gate" and not "mlp.gate_proj".
  std::optional<DeclaredScheme> scheme_of(std::string_view module) const override {
    const std::string name = fmt::format(".{}.", module);
    for (const std::string& part : excluded_)
      if (name.find("." + part + ".") != std::string::npos) return {};
    return scheme_;
  }

 private:
  DeclaredScheme scheme_;
  std::vector<std::string> excluded_;
};

}  // namespace

std::unique_ptr<Declaration> read_fp8_block(const ModelConfig& config) {
  const Json* q = config.quantization();
  if (q == nullptr || q->string_or("quant_method", "") != "fp8") return nullptr;
  return std::make_unique<Fp8Declaration>(*q);
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
