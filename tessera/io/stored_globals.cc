#include "tessera/io/stored_globals.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/json.h"

namespace tessera {

float reciprocal(float global) {
  return global > 0 ? std::min(1.f / global, std::numeric_limits<float>::max()) : 1.f / global;
}

float across_sense(const StoredGlobal& original, Sense target) {
  const bool divides = original.sense != Sense::kMultiply, wants_divisor = target != Sense::kMultiply;
  return divides == wants_divisor ? original.bits : reciprocal(original.bits);
}

std::optional<StoredGlobal> StoredGlobals::original(std::string_view name, float found, Sense sense) const {
  const auto it = kept_.find(name);
  if (it == kept_.end()) return {};
  const float derived = across_sense(it->second, sense);
  if (std::bit_cast<std::uint32_t>(derived) != std::bit_cast<std::uint32_t>(found)) return {};
  return it->second;
}

std::string StoredGlobals::text() const {
  Json object = JsonObject{};
  auto& entries = object.as_object();
  for (const auto& [name, g] : kept_) {
    const char sign = g.sense == Sense::kMultiply ? '*' : g.sense == Sense::kDivide ? '/' : '\\';
    entries.emplace_back(name, fmt::format("{:08x}{}", std::bit_cast<std::uint32_t>(g.bits), sign));
  }
  return object.dump();
}

StoredGlobals StoredGlobals::parse(std::string_view text) {
  StoredGlobals result;
  const Json object = parse_json(text);
  require(object.is_object(), Errc::kCorrupt, "the metadata '{}' holds no JSON object", kGlobalsKey);
  for (const auto& [name, value] : object.as_object()) {
    const std::string& word = value.as_string();
    std::uint32_t bits = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
    const char sign = word.size() == 9 && parsed.ptr == word.data() + 8 ? word[8] : '?';
    require(sign == '*' || sign == '/' || sign == '\\', Errc::kCorrupt,
            "the metadata '{}' has '{}' for {}; \"39aaaaab*\" is its form", kGlobalsKey, word, name);
    result.keep(name, {std::bit_cast<float>(bits), sign == '*'   ? Sense::kMultiply
                                                   : sign == '/' ? Sense::kDivide
                                                                 : Sense::kReciprocalFirst});
  }
  return result;
}

}  // namespace tessera
