// What configurations claim: {"config": config.json, "sidecar": hf_quant_config.json}, or one of them alone. Laws: a
// claim is a function of the name; blocks are positive; whatever is claimed, tensors are read as something or as
// nothing.
#include "tessera/io/declaration.h"

#include <array>

#include "tessera/io/dialect.h"
#include "tests/fuzz/untrusted.h"

namespace {

using tessera::Json;
using tessera::StoredTensor;

constexpr std::array kNames{"model.layers.0.self_attn.q_proj", "model.language_model.layers.11.mlp.experts.3.up_proj",
                            "lm_head"};

bool is_positive(const std::optional<tessera::Block>& block) { return !block || (block->rows > 0 && block->cols > 0); }

// FP8 codes under a grid of scales: what a declared block size decides.
void read_blocks(const tessera::Declaration& declared) {
  const tessera::ModelConfig config;
  const tessera::Evidence evidence{.config = config,
                                   .declaration = &declared,
                                   .tiles = {},
                                   .text = [](const StoredTensor&) { return std::string(); },
                                   .layer_note = [](std::string_view) -> const Json* { return nullptr; }};
  for (const char* scales : {"weight_scale_inv", "weight_scale"}) {
    const StoredTensor codes{
        .name = "m.weight", .dtype = tessera::DType::kF8E4M3, .type = "F8_E4M3", .shape = {256, 384}};
    const StoredTensor grid{.name = "m.w", .dtype = tessera::DType::kF32, .type = "F32", .shape = {2, 3}};
    const auto reading = tessera::read_module("m", {{"weight", &codes}, {scales, &grid}}, evidence);
    TESSERA_ASSERT(reading && reading->extent == (tessera::Extent{256, 384}));
  }
}

void check_config(const tessera::ModelConfig& config) {
  for (const char* key : {"num_experts", "num_local_experts"}) config.number(key);
  for (const tessera::Dialect* dialect : tessera::all_dialects()) {
    const auto declared = dialect->read_declaration(config);
    if (declared == nullptr) continue;
    TESSERA_ASSERT(declared->dialect == dialect->name && is_positive(declared->block));
    for (const char* name : kNames) {
      const auto scheme = declared->scheme_of(name), again = declared->scheme_of(name);
      TESSERA_ASSERT(scheme.has_value() == again.has_value());
      TESSERA_ASSERT(!scheme || (scheme->label == again->label && is_positive(scheme->block)));
    }
    read_blocks(*declared);
  }
}

void check(std::string_view text) {
  const Json json = tessera::parse_json(text);
  if (!json.is_object()) return;
  const Json *config = json.find("config"), *sidecar = json.find("sidecar");
  check_config({.config = config != nullptr && config->is_object() ? *config : json,
                .sidecar = sidecar != nullptr && sidecar->is_object() ? *sidecar : Json(),
                .metadata = {}});
  check_config({.config = {}, .sidecar = json, .metadata = {}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return tessera::fuzz::answer(data, size, check);
}
