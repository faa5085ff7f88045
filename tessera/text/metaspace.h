// What the pre-tokenizer and the decoder Metaspace have in common: a mark for spaces, and whether one is put before
// texts.
#pragma once
#include <cstdint>
#include <string>

#include "tessera/base/json.h"

namespace tessera {

enum class MetaspacePrefix : std::uint8_t { kNever, kFirst, kAlways };

std::string metaspace_mark(const Json& json);        // the field "replacement": one character
MetaspacePrefix metaspace_prefix(const Json& json);  // "prepend_scheme", or "add_prefix_space" of old files

}  // namespace tessera
