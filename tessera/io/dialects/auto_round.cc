#include "tessera/io/dialects/auto_round.h"

namespace tessera::dialects {
namespace {

constexpr std::int64_t kMxBlock = 32;

std::int64_t integer_or(const Json& json, std::string_view key, std::int64_t otherwise) {
  const Json* value = json.find(key);
  return value != nullptr && value->is_integer() ? value->as_int64() : otherwise;
}

}  // namespace

std::unique_ptr<Declaration> read_auto_round(const ModelConfig& config) {
  const Json* q = quantization_by(config, "auto-round");
  if (q == nullptr) return nullptr;
  const std::string type = q->string_or("data_type", "");
  DeclaredScheme scheme{.label = type, .family = ""};
  if (type.starts_with("nv_fp")) scheme.family = "NVFP4";
  if (type.starts_with("mx_fp"))
    scheme.family = integer_or(*q, "bits", 4) == 8 ? "MXFP8" : "MXFP4";
  else if (type == "fp" && integer_or(*q, "bits", 0) == 8)
    scheme.family = integer_or(*q, "group_size", 0) == kMxBlock ? "MXFP8" : "FP8";
  const Json* dynamic = q->find("act_dynamic");
  if (integer_or(*q, "act_bits", 16) < 16)
    scheme.activation = dynamic != nullptr && dynamic->is_bool() && !dynamic->as_bool() ? ActivationScheme::kStatic
                                                                                        : ActivationScheme::kDynamic;
  if (q->string_or("act_data_type", "").find("static_gs") != std::string::npos)
    scheme.activation = ActivationScheme::kStatic;
  scheme.sense = Sense::kReciprocalFirst;
  auto declaration = std::make_unique<UniformDeclaration>("auto-round", "auto-round", *q, scheme);
  declaration->version = q->string_or("autoround_version", "");
  declaration->names_modules = false;  // only the blocks of block_name_to_quantize, with extra_config per layer
  return declaration;
}

}  // namespace tessera::dialects
