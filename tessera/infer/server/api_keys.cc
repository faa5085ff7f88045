#include "tessera/infer/server/api_keys.h"

#include <cstdint>

#include "tessera/base/error.h"

namespace tessera::server {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

// Looks at every byte of `given`, whatever `key` is. key is not empty.
bool equals(std::string_view key, std::string_view given) {
  std::uint32_t differs = key.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differs |= static_cast<std::uint32_t>(static_cast<unsigned char>(given[i]) ^
                                          static_cast<unsigned char>(key[i % key.size()]));
  return differs == 0;
}

}  // namespace

ApiKeys ApiKeys::parse(std::string_view text) {
  ApiKeys keys;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::string_view key = trimmed(text.substr(0, end)); !key.empty()) keys.keys_.emplace_back(key);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  require(!keys.keys_.empty(), Errc::kInvalid, "the file holds no API key: one a line is expected");
  return keys;
}

bool ApiKeys::admits(std::string_view authorization) const {
  if (is_open()) return true;
  constexpr std::string_view kBearer = "bearer ";
  if (authorization.size() < kBearer.size()) return false;
  for (std::size_t i = 0; i < kBearer.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != kBearer[i]) return false;
  }
  const std::string_view given = trimmed(authorization.substr(kBearer.size()));
  bool admitted = false;
  for (const std::string& key : keys_) admitted = equals(key, given) || admitted;
  return admitted;
}

}  // namespace tessera::server
