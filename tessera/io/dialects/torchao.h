// torchao's flattened safetensors: the parts of a tensor subclass under names of their own ("_weight_qdata"), and for
// each logical tensor a JSON in the file's metadata that says what it is. Its block scales stand in tiles, by default,
// or in rows, as the metadata says. Source: pytorch/ao 0.18, prototype/safetensors/; docs/formats/torchao.md.
#pragma once
#include "tessera/io/dialect.h"

namespace tessera::dialects {

std::unique_ptr<Declaration> read_torchao(const ModelConfig& config);
void write_torchao(const WrittenModel& model, ModelConfig& config);
std::optional<Claim> claim_torchao(std::string_view module, const ModuleTensors& tensors, const Evidence& evidence);

inline constexpr Spelling kTorchaoWeights[] = {
    {.format = "nvfp4",
     .codes = "_weight_qdata",
     .codes_dtypes = "U8",
     .scales = "_weight_scale",
     .scales_dtypes = "F8_E4M3",
     .global = "_weight_per_tensor_scale",
     .activation = "_weight_act_per_tensor_scale",
     .global_may_lack = true,
     .scale_order = GridOrder::kTiles,
     .flat_tiles = true},
    {.format = "mxfp8",
     .codes = "_weight_qdata",
     .codes_dtypes = "F8_E4M3",
     .scales = "_weight_scale",
     .scales_dtypes = "F8_E8M0",
     .scale_order = GridOrder::kTiles,
     .flat_tiles = true},
    {.format = "mxfp8_e5m2",
     .codes = "_weight_qdata",
     .codes_dtypes = "F8_E5M2",
     .scales = "_weight_scale",
     .scales_dtypes = "F8_E8M0",
     .scale_order = GridOrder::kTiles,
     .flat_tiles = true},
    {.format = "mxfp4",
     .codes = "_weight_qdata",
     .codes_dtypes = "U8",
     .scales = "_weight_scale",
     .scales_dtypes = "F8_E8M0",
     .scale_order = GridOrder::kTiles,
     .flat_tiles = true},
    {.format = "fp8",
     .codes = "_weight_qdata",
     .codes_dtypes = "F8_E4M3",
     .scales = "_weight_scale",
     .scales_dtypes = "F32"},
    {.format = "fp8_channel",
     .codes = "_weight_qdata",
     .codes_dtypes = "F8_E4M3",
     .scales = "_weight_scale",
     .scales_dtypes = "F32"},
    {.format = "fp8_1x128",
     .codes = "_weight_qdata",
     .codes_dtypes = "F8_E4M3",
     .scales = "_weight_scale",
     .scales_dtypes = "F32",
     .only_read = true},
    {.format = "fp8_block",
     .codes = "_weight_qdata",
     .codes_dtypes = "F8_E4M3",
     .scales = "_weight_scale",
     .scales_dtypes = "F32",
     .only_read = true},
};
// Experts that are one parameter of another name have the same parts under it: "experts._gate_up_proj_qdata".
inline constexpr auto kTorchaoBanks = [] {
  std::array<Spelling, std::size(kTorchaoWeights)> banks{};
  for (std::size_t i = 0; i < banks.size(); ++i) {
    Spelling& s = banks[i] = kTorchaoWeights[i];
    for (std::string_view* suffix : {&s.codes, &s.scales, &s.global, &s.activation})
      if (!suffix->empty()) suffix->remove_prefix(std::string_view("_weight").size());
    s.glued = s.underscored = s.only_read = true;
  }
  return banks;
}();
inline constexpr auto kTorchao = joined(kTorchaoWeights, kTorchaoBanks);
inline constexpr Dialect torchao{.name = "torchao",
                                 .description = "torchao's flattened tensor subclasses",
                                 .spellings = kTorchao,
                                 .fused = {},
                                 .cache = {},
                                 .writer = "torchao",
                                 .read_declaration = &read_torchao,
                                 .write_declaration = &write_torchao,
                                 .claim = &claim_torchao,
                                 .only_claimed = true};

}  // namespace tessera::dialects
