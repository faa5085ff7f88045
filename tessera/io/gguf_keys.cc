#include "tessera/io/gguf_keys.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

// Runs `read`; a value of another type is told with the key's name.
template <class Fn>
auto naming_key(const std::string& key, const Fn& read) {
  try {
    return read();
  } catch (const Error& e) {
    fail(e.code(), "the key {}: {}", key, e.message());
  }
}

}  // namespace

std::string GgufKeys::full(std::string_view key) const { return fmt::format("{}{}", prefix_, key); }

const Json* GgufKeys::find(std::string_view key) {
  const std::string name = full(key);
  read_.insert(name);
  return metadata_.find(name);
}

std::optional<std::int64_t> GgufKeys::integer(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return naming_key(full(key), [&] { return value->as_int64(); });
}

std::int64_t GgufKeys::required_integer(std::string_view key) {
  const std::optional<std::int64_t> value = integer(key);
  require(value.has_value(), Errc::kCorrupt, "this GGUF file has no key {}", full(key));
  return *value;
}

std::optional<double> GgufKeys::real(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const double wide = naming_key(full(key), [&] { return value->as_double(); });
  require(std::isfinite(wide), Errc::kCorrupt, "the key {} is {}", full(key), wide);
  if (std::abs(wide) > std::numeric_limits<float>::max()) return wide;
  const auto narrow = static_cast<float>(wide);
  if (static_cast<double>(narrow) != wide) return wide;  // stored as f64
  char text[32];
  const char* end = std::to_chars(text, text + sizeof text, narrow).ptr;
  double shortest = wide;
  std::from_chars(text, end, shortest);
  return shortest;
}

std::optional<bool> GgufKeys::boolean(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return naming_key(full(key), [&] { return value->as_bool(); });
}

std::optional<std::string> GgufKeys::text(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return naming_key(full(key), [&] {
    const std::string& bytes = value->as_string();
    require(is_utf8(bytes), Errc::kCorrupt, "its text is not UTF-8: {}", printable(bytes));
    return bytes;
  });
}

const JsonArray* GgufKeys::list(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) return nullptr;
  return naming_key(full(key), [&] { return &value->as_array(); });
}

std::vector<std::string> GgufKeys::unread() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : metadata_.as_object())
    if (key.starts_with(prefix_) && !read_.contains(key)) keys.push_back(key);
  return keys;
}

}  // namespace tessera
