#include "tessera/io/foreign_layouts.h"

#include "tessera/base/error.h"
#include "tessera/base/json.h"

namespace tessera {
namespace {

constexpr std::string_view kMetadataKey = "_quantization_metadata";

// FLUX as Black Forest Labs name its blocks: "double_blocks.0.img_attn.qkv", with or without a prefix.
bool is_flux_block(std::string_view module) {
  for (const std::string_view blocks : {"double_blocks.", "single_blocks."}) {
    const std::size_t at = module.find(blocks);
    if (at == std::string_view::npos || (at > 0 && module[at - 1] != '.')) continue;
    const std::size_t digit = at + blocks.size();
    if (digit < module.size() && module[digit] >= '0' && module[digit] <= '9') return true;
  }
  return false;
}

}  // namespace

ForeignLayouts::ForeignLayouts(const std::map<std::string, std::string, std::less<>>& metadata) {
  const auto text = metadata.find(kMetadataKey);
  if (text == metadata.end()) return;
  try {
    const Json json = parse_json(text->second);
    const Json* layers = json.find("layers");
    if (layers == nullptr || !layers->is_object()) return;
    for (const auto& [name, facts] : layers->as_object()) listed_.insert(name);
  } catch (Error& e) {
    e.add_note(fmt::format("reading the metadata '{}'", kMetadataKey));
    throw;
  }
}

std::optional<std::string> ForeignLayouts::reason(std::string_view module, const Format& seeming) const {
  if (listed_.contains(module))
    return fmt::format(
        "the file's metadata '{}' lists it, whose layouts (ComfyUI's, and Model Optimizer's for single "
        "files) are not read",
        kMetadataKey);
  if (seeming.element.bits() == 4 && is_flux_block(module))
    return "FLUX blocks of 4-bit codes have the first code in the high half of a byte and their scales in tiles, which "
           "is not read";
  return {};
}

}  // namespace tessera
