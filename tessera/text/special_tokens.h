// The tokens that post-processors put around a text.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/text/encoding.h"

namespace tessera {

std::int32_t token_id(const Json& json);                               // kCorrupt for what is no id
std::int32_t named_token_id(const Json& json, std::string_view name);  // of a field ["</s>", 2]
void surround(Encoding& encoding, const std::vector<std::int32_t>& before, const std::vector<std::int32_t>& after);

}  // namespace tessera
