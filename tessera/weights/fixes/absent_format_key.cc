#include "tessera/weights/fixes/absent_format_key.h"

#include "tessera/base/error.h"
#include "tessera/weights/written_model.h"

namespace tessera::fixes {
namespace {

constexpr std::string_view kMixed = "mixed-precision";

std::string format_in(const Json& object) { return object.string_or("format", ""); }

// Where the configuration has the declaration.
Json* declaration_in(Json& config) {
  for (Json* at : {&config, config.find("text_config")}) {
    if (at == nullptr) continue;
    for (const std::string_view key : {"quantization_config", "compression_config"})
      if (Json* found = at->find(key); found != nullptr && found->is_object()) return found;
  }
  return nullptr;
}

// What tells the weights of one group from another's: the formats of compressed-tensors differ in no more.
bool weighs_alike(const Json& a, const Json& b) {
  for (const std::string_view key : {"num_bits", "group_size", "strategy", "type"}) {
    const Json *x = a.find("weights", key), *y = b.find("weights", key);
    if ((x != nullptr ? x->dump() : "null") != (y != nullptr ? y->dump() : "null")) return false;
  }
  return true;
}

// The configuration that compressed-tensors' own dialect writes for the tensors as they are.
Json written_for(const Checkpoint& model, const Dialect& dialect) {
  std::vector<WrittenModule> quantized;
  for (const Module& m : model.modules())
    if (m.is_quantized()) quantized.push_back({m.name, m.reading.format, m.activation_scheme, m.reading.extent});
  ModelConfig config{.config = JsonObject{}, .sidecar = {}, .metadata = {}};
  declare(dialect, written_model(model, std::move(quantized), CacheScales::kAbsent), config);
  return *config.quantization();
}

}  // namespace

Repair plan_absent_format_key(const Checkpoint& model, std::uint64_t) {
  Repair repair;
  if (model.declared() == nullptr || model.declared()->dialect != "compressed-tensors") return repair;
  Json config = model.config().config;
  Json* declared = declaration_in(config);
  Json* groups = declared != nullptr ? declared->find("config_groups") : nullptr;
  if (groups == nullptr || !groups->is_object()) return repair;
  const std::string top = format_in(*declared);
  const bool speaks_for_groups = !top.empty() && top != kMixed;
  std::vector<Json*> silent;
  for (auto& [name, group] : groups->as_object()) {
    if (!group.is_object() || !format_in(group).empty() || speaks_for_groups) continue;
    silent.push_back(&group);
    repair.findings.push_back(
        {"", fmt::format("{}: group {} has no format, nor has the whole", model.declared()->where, name)});
  }
  if (silent.empty()) return repair;
  const Json written = written_for(model, find_dialect("compressed-tensors"));
  for (Json* group : silent) {
    std::string format;
    for (const auto& [name, candidate] : written.find("config_groups")->as_object())
      if (weighs_alike(*group, candidate)) format = format_in(candidate);
    if (format.empty()) {
      repair.doubt = fmt::format("no weight of the model is what the group declares: {}", group->dump());
      return repair;
    }
    group->set("format", format);
  }
  if (top.empty()) declared->set("format", format_in(written));
  repair.amendment.config = std::move(config);
  return repair;
}

}  // namespace tessera::fixes
