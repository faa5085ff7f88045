// Weights whose names, dtypes and shapes are those of a dialect that is read, and whose bytes are laid out otherwise:
// high nibble first, block scales in tiles. Decoding them gives noise and no error, so they are told apart by what else
// is known of them. Source: spec/checkpoint-dialects.md 1.11, 1.12, 4.3 (rows 1 and 2).
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tessera/numeric/format.h"

namespace tessera {

class ForeignLayouts final {
 public:
  // `metadata`: safetensors' own. Throws kCorrupt where its "_quantization_metadata" is no JSON object.
  explicit ForeignLayouts(const std::map<std::string, std::string, std::less<>>& metadata);

  // Why the bytes of this module are not what they seem, or nothing.
  std::optional<std::string> reason(std::string_view module, const Format& seeming) const;

 private:
  std::set<std::string, std::less<>> listed_;  // modules of "_quantization_metadata"
};

}  // namespace tessera
