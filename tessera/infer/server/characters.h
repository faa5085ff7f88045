// Characters of UTF-8, as Python counts them: code points.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>

namespace tessera::server {

inline std::int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace tessera::server
