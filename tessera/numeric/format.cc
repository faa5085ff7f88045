#include "tessera/numeric/format.h"

#include "tessera/base/error.h"
#include "tessera_registry/formats.inc"

namespace tessera {

std::span<const Format* const> all_formats() { return kRegistry_formats; }

const Format& find_format(std::string_view name) {
  std::string known;
  for (const Format* format : all_formats()) {
    if (format->name == name) return *format;
    known.append(known.empty() ? "" : ", ").append(format->name);
  }
  fail(Errc::kNotFound, "no format '{}'; there are: {}", name, known);
}

Format block_fp8(Block block, Element element, Element scale) {
  require(block.rows >= 0 && block.cols >= 0, Errc::kInvalid, "a block of {}x{} elements", block.rows, block.cols);
  Format wanted{"", element, block, scale, false};
  for (const Format* format : all_formats()) {
    wanted.name = format->name;
    if (*format == wanted) return wanted;
  }
  wanted.name = element == kE5M2 ? "fp8_block_e5m2" : "fp8_block";
  return wanted;
}

std::string format_label(const Format& format) {
  for (const Format* named : all_formats())
    if (named->name == format.name && named->block == format.block) return std::string(format.name);
  return fmt::format("{}[{}x{}]", format.name, format.block.rows, format.block.cols);
}

}  // namespace tessera
