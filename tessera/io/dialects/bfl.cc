#include "tessera/io/dialects/bfl.h"

namespace tessera::dialects {

// "double_blocks.0.img_attn.qkv", with or without a prefix.
std::optional<Claim> claim_bfl(std::string_view module, const ModuleTensors& tensors, const Evidence&) {
  const auto weight = tensors.find("weight");
  if (weight == tensors.end() || weight->second->type != "U8" || !tensors.contains("weight_scale_2") ||
      tensors.contains("comfy_quant"))
    return {};
  for (const std::string_view blocks : {"double_blocks.", "single_blocks."}) {
    const std::size_t at = module.find(blocks);
    if (at == std::string_view::npos || (at > 0 && module[at - 1] != '.')) continue;
    const std::size_t digit = at + blocks.size();
    if (digit < module.size() && module[digit] >= '0' && module[digit] <= '9') return Claim{};
  }
  return {};
}

}  // namespace tessera::dialects
