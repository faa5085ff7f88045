#include "tessera/io/shard_index.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/json.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr std::size_t kLongestFileName = 255;  // NAME_MAX

// A name cannot leave the folder: no separators, so neither "..", nor an absolute path.
void check_file_name(const std::string& tensor, const std::string& name) {
  const bool plain = !name.empty() && name.size() <= kLongestFileName &&
                     name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos && name[0] != '.' &&
                     name.ends_with(".safetensors");
  if (plain) return;
  Error error(Errc::kCorrupt, fmt::format("the index gives tensor '{}' to '{}', which is not the name of a safetensors "
                                          "file in the folder",
                                          printable(tensor), printable(name)));
  error.in_tensor(tensor);
  throw error;
}

}  // namespace

ShardIndex parse_shard_index(std::string_view text) {
  const Json json = parse_json(text);
  const Json* map = json.find("weight_map");
  require(map != nullptr && map->is_object(), Errc::kCorrupt, "the index has no object 'weight_map'");
  ShardIndex index;
  for (const auto& [tensor, file] : map->as_object()) {
    if (!file.is_string()) fail(Errc::kCorrupt, "the index gives tensor '{}' to no file name", printable(tensor));
    check_file_name(tensor, file.as_string());
    index.files.push_back(file.as_string());
  }
  std::sort(index.files.begin(), index.files.end());
  index.files.erase(std::unique(index.files.begin(), index.files.end()), index.files.end());
  for (const auto& [tensor, file] : map->as_object()) {
    const auto place = std::lower_bound(index.files.begin(), index.files.end(), file.as_string());
    index.file_of.emplace(tensor, static_cast<std::uint32_t>(place - index.files.begin()));
  }
  if (const Json* size = json.find("metadata", "total_size"); size != nullptr && size->is_number())
    index.total_size = size->as_double();
  return index;
}

}  // namespace tessera
