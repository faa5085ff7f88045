// The JSON object in the body of a request, from bytes that may be anything.
#pragma once
#include <string_view>

#include "tessera/base/json.h"

namespace tessera::server {

constexpr int kDeepest = 64;  // objects and lists within each other

// Refuses (400) what is not UTF-8, not JSON, nested too deep, or no object. A number beyond f64 is the largest f64, so
// that the parameter which has it is refused by name.
Json parse_body(std::string_view bytes);

}  // namespace tessera::server
