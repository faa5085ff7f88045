// The registries as laws sweep them: every format with every writer that knows it.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "tessera/numeric/writer.h"
#include "tessera/tensor/quantized_tensor.h"

namespace tessera::laws {

inline std::vector<OperandSpec> all_specs() {
  std::vector<Format> formats;
  for (const Format* f : all_formats())
    if (f->is_scaled()) formats.push_back(*f);
  // Blocks that only checkpoints know, with both kinds of scale.
  formats.push_back(block_fp8({32, 32}));
  formats.push_back(block_fp8({32, 16}, kE4M3, kE8M0));
  std::vector<OperandSpec> specs;
  for (const Format& f : formats)
    for (const Writer* w : all_writers())
      if (w->supports(f)) specs.push_back({f, w});
  return specs;
}

inline std::string name_of(const OperandSpec& spec) {
  std::string name =
      format_label(spec.format) + "_" + std::string(spec.writer->name) + (spec.format.scale == kE8M0 ? "_e8m0" : "");
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

}  // namespace tessera::laws

namespace tessera {
// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
inline void PrintTo(const OperandSpec& spec, std::ostream* out) { *out << laws::name_of(spec); }
}  // namespace tessera
