#include "tessera/io/dialects/comfy_quant.h"

#include "tessera/base/error.h"

namespace tessera::dialects {
namespace {

constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
    {"float8_e4m3fn", "fp8"}, {"float8_e5m2", "fp8_e5m2"}, {"nvfp4", "nvfp4"}, {"mxfp8", "mxfp8"}};

Claim claim_of(const Json& note) {
  Claim claim;
  const std::string format = note.string_or("format", "");
  for (const auto& [theirs, ours] : kFormats)
    if (format == theirs) claim.format = ours;
  const Json* rotated = note.find("convrot");
  if (claim.format.empty())
    claim.refusal = fmt::format("its note says the format '{}', which Tessera does not read", format);
  else if (rotated != nullptr && rotated->is_bool() && rotated->as_bool())
    claim.refusal = "its note says that the weight is rotated, and the rotation is not in the file";
  const Json* shape = note.find("orig_shape");
  if (shape == nullptr) return claim;
  if (!shape->is_array() || shape->as_array().size() != 2 || !shape->as_array()[0].is_integer() ||
      !shape->as_array()[1].is_integer())
    claim.refusal = fmt::format("its note has the orig_shape {}; two numbers are wanted", shape->dump());
  else
    claim.logical = Extent{shape->as_array()[0].as_int64(), shape->as_array()[1].as_int64()};
  return claim;
}

}  // namespace

std::optional<Claim> claim_comfy_quant(std::string_view module, const ModuleTensors& tensors,
                                       const Evidence& evidence) {
  if (const auto note = tensors.find("comfy_quant"); note != tensors.end()) {
    try {
      const Json json = parse_json(evidence.text(*note->second));
      require(json.is_object(), Errc::kCorrupt, "{} holds no JSON object", note->second->name);
      return claim_of(json);
    } catch (Error& e) {
      e.in_tensor(note->second->name).add_note(fmt::format("reading {}", note->second->name));
      throw;
    }
  }
  // Model Optimizer writes the same metadata beside its own quantization_config, over other bytes.
  if (evidence.config.metadata.contains("quantization_config") || !tensors.contains("weight_scale")) return {};
  const Json* note = evidence.layer_note(module);
  if (note == nullptr) return {};
  return claim_of(*note);
}

std::string comfy_quant_note(const Format& format, Extent extent) {
  Json note;
  for (const auto& [theirs, ours] : kFormats)
    if (format.name == ours) note.set("format", theirs);
  note.set("orig_shape", JsonArray{extent.rows, extent.cols});
  return note.dump();
}

}  // namespace tessera::dialects
