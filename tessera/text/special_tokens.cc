#include "tessera/text/special_tokens.h"

#include <limits>

#include "tessera/text/part_kind.h"

namespace tessera {

std::int32_t token_id(const Json& json) {
  const std::uint64_t id = json.as_uint64();
  require(id <= std::numeric_limits<std::int32_t>::max(), Errc::kCorrupt, "{} is no id of a token", id);
  return static_cast<std::int32_t>(id);
}

std::int32_t named_token_id(const Json& json, std::string_view name) {
  const JsonArray& pair = field(json, name).as_array();
  require(pair.size() == 2, Errc::kCorrupt, "\"{}\" has {} elements; a token and its id are expected", name,
          pair.size());
  return token_id(pair[1]);
}

void surround(Encoding& encoding, const std::vector<std::int32_t>& before, const std::vector<std::int32_t>& after) {
  encoding.ids.insert(encoding.ids.begin(), before.begin(), before.end());
  encoding.offsets.insert(encoding.offsets.begin(), before.size(), ByteRange{});
  for (const std::int32_t id : after) encoding.add(id, {});
}

}  // namespace tessera
