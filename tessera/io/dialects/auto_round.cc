#include "tessera/io/dialects/auto_round.h"

#include <algorithm>

namespace tessera::dialects {
namespace {

constexpr std::int64_t kMxBlock = 32;

std::int64_t integer_or(const Json& json, std::string_view key, std::int64_t otherwise) {
  const Json* value = json.find(key);
  return value != nullptr && value->is_integer() ? value->as_int64() : otherwise;
}

// Whether AutoRound says that FP4 has UE5M3 scales: in its own words, where it is said of the whole model, or in those
// of compressed-tensors, where a group says it.
bool declares_e5m3(const Json* q) { return q != nullptr && q->string_or("data_type", "") == "nvfp4_v2"; }
bool declares_e5m3_group(const Json* q) {
  if (q == nullptr) return false;
  if (q->string_or("format", "") == kE5m3Packed) return true;
  const Json* groups = q->find("config_groups");
  if (groups == nullptr || !groups->is_object()) return false;
  return std::any_of(groups->as_object().begin(), groups->as_object().end(), [](const auto& group) {
    return group.second.is_object() && group.second.string_or("format", "") == kE5m3Packed;
  });
}

}  // namespace

std::unique_ptr<Declaration> read_auto_round(const ModelConfig& config) {
  const Json* q = quantization_by(config, "auto-round");
  if (q == nullptr) return nullptr;
  const std::string type = q->string_or("data_type", "");
  DeclaredScheme scheme{.label = type, .family = ""};
  if (type.starts_with("nv_fp")) scheme.family = "NVFP4";
  if (declares_e5m3(q)) scheme.family = "nvfp4_e5m3";
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

// UE5M3 scales alone, in either of its exports: bytes, one for 16 codes, that are neither E4M3 (their dtype says so)
// nor E8M0 (those are one for 32).
std::optional<Claim> claim_auto_round(std::string_view, const ModuleTensors& tensors, const Evidence& evidence) {
  const auto codes = tensors.find("weight_packed"), scales = tensors.find("weight_scale");
  if (codes == tensors.end() || scales == tensors.end()) return {};
  const StoredTensor &c = *codes->second, &s = *scales->second;
  if (s.type != "U8" || c.shape.size() != 2 || s.shape.size() != 2) return {};
  const Json* q = evidence.config.quantization();
  const bool sixteens = c.shape[1] == 8 * s.shape[1];
  if (sixteens && (declares_e5m3(q) || declares_e5m3_group(q))) return Claim{.format = "nvfp4_e5m3"};
  if (sixteens)
    return Claim{.refusal =
                     "its scales are bytes, one for 16 codes: UE5M3 if AutoRound wrote them, but no configuration "
                     "says so"};
  if (declares_e5m3(q) && c.shape[1] == 16 * s.shape[1])
    return Claim{.refusal =
                     "its configuration says that scales are UE5M3, and they are one for 32 codes, as E8M0 is; "
                     "which they are is not known"};
  return {};
}

}  // namespace tessera::dialects
