// The index of a sharded checkpoint: which file holds which tensor.
// {"metadata": {"total_size": N}, "weight_map": {"tensor": "file.safetensors"}}
// Source: spec 1.18; docs/design/containers.md.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct ShardIndex {
  std::map<std::string, std::uint32_t, std::less<>> file_of;  // tensor -> index into files
  std::vector<std::string> files;                             // plain file names, sorted, each once
  std::optional<double> total_size;                           // bytes, as the index claims
};

// Throws kCorrupt: not such an object, a key twice, or a file name that is a path (a separator, "..", absolute), empty,
// or of no safetensors file.
ShardIndex parse_shard_index(std::string_view text);

}  // namespace tessera
