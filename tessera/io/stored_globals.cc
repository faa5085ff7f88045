#include "tessera/io/stored_globals.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/json.h"

namespace tessera {
namespace {

constexpr Sense kSenses[] = {Sense::kMultiply, Sense::kDivide, Sense::kReciprocalFirst, Sense::kMaximum};

// How a sense is written behind the bits.
char sign_of(Sense sense) {
  if (sense == Sense::kMultiply) return '*';
  if (sense == Sense::kDivide) return '/';
  return sense == Sense::kReciprocalFirst ? '\\' : '^';
}

}  // namespace

float reciprocal(float global) {
  return global > 0 ? std::min(1.f / global, std::numeric_limits<float>::max()) : 1.f / global;
}

float across_sense(const StoredGlobal& original, Sense target) {
  if (original.sense == target) return original.bits;
  if (target == Sense::kMaximum) return across_sense(original, Sense::kMultiply) * 2688.f;
  const StoredGlobal known = original.sense == Sense::kMaximum
                                 ? StoredGlobal{decoding_scale(Sense::kMaximum, 1.f, original.bits), Sense::kMultiply}
                                 : original;
  const bool divides = known.sense != Sense::kMultiply, wants_divisor = target != Sense::kMultiply;
  return divides == wants_divisor ? known.bits : reciprocal(known.bits);
}

float StoredGlobal::value() const { return across_sense(*this, Sense::kMultiply); }

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
    entries.emplace_back(name, fmt::format("{:08x}{}", std::bit_cast<std::uint32_t>(g.bits), sign_of(g.sense)));
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
    const auto* found =
        std::find_if(std::begin(kSenses), std::end(kSenses), [&](Sense s) { return sign_of(s) == sign; });
    require(found != std::end(kSenses), Errc::kCorrupt, "the metadata '{}' has '{}' for {}; \"39aaaaab*\" is its form",
            kGlobalsKey, word, name);
    result.keep(name, {std::bit_cast<float>(bits), *found});
  }
  return result;
}

}  // namespace tessera
