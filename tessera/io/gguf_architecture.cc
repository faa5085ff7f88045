#include "tessera/io/gguf_architecture.h"

#include <charconv>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera_registry/gguf_architectures.inc"

namespace tessera {
namespace {

constexpr std::string_view kLayer = "{}";

// The number that stands for "{}" when `text` has the form of `pattern`; -1 for a pattern without one; none when the
// form is another. Layers are written as ggml writes them: decimal, without leading zeros.
std::optional<std::int64_t> match_pattern(std::string_view pattern, std::string_view text) {
  const std::size_t place = pattern.find(kLayer);
  if (place == std::string_view::npos) return pattern == text ? std::optional<std::int64_t>(-1) : std::nullopt;
  const std::string_view before = pattern.substr(0, place), after = pattern.substr(place + kLayer.size());
  if (text.size() <= before.size() + after.size() || !text.starts_with(before) || !text.ends_with(after))
    return std::nullopt;
  const std::string_view digits = text.substr(before.size(), text.size() - before.size() - after.size());
  std::int64_t layer = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), layer);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size() && digits[0] != '-';
  if (!is_number || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  return layer;
}

std::string fill_layer(std::string_view pattern, std::int64_t layer) {
  std::string text(pattern);
  if (const std::size_t place = text.find(kLayer); place != std::string::npos)
    text.replace(place, kLayer.size(), std::to_string(layer));
  return text;
}

}  // namespace

std::int64_t extent_of(GgufSize size, const GgufSizes& sizes) {
  switch (size) {
    case GgufSize::kNone:
      return 1;
    case GgufSize::kHidden:
      return sizes.hidden;
    case GgufSize::kFeedForward:
      return sizes.feed_forward;
    case GgufSize::kVocabulary:
      return sizes.vocabulary;
    case GgufSize::kQuery:
      return sizes.heads * sizes.head_width;
    case GgufSize::kKey:
      return sizes.key_heads * sizes.head_width;
    case GgufSize::kHeadWidth:
      return sizes.head_width;
  }
  TESSERA_ASSERT(false);
}

bool GgufFacts::has_all(std::initializer_list<std::string_view> parts) const {
  std::vector<std::string_view> there, absent;
  for (const std::string_view part : parts) (has(fmt::format("blk.0.{}", part)) ? there : absent).push_back(part);
  require(
      there.empty() || absent.empty(), Errc::kUnsupported,
      "the layers have {} and lack {}; transformers' configuration can only say that they have all of these or none",
      fmt::join(there, ", "), fmt::join(absent, ", "));
  return absent.empty();
}

std::span<const GgufArchitecture* const> all_gguf_architectures() { return kRegistry_gguf_architectures; }

const GgufArchitecture& find_gguf_architecture(std::string_view name) {
  std::vector<std::string_view> names;
  for (const GgufArchitecture* architecture : all_gguf_architectures()) {
    if (architecture->name == name) return *architecture;
    names.push_back(architecture->name);
  }
  fail(Errc::kUnsupported, "the architecture '{}' of this GGUF file is not known; known are: {}", printable(name),
       fmt::join(names, ", "));
}

std::optional<GgufMatch> match_gguf_name(const GgufArchitecture& architecture, std::string_view gguf_name) {
  for (const std::string_view suffix : {".weight", ".bias", ".input_scale", ".scale"}) {
    if (!gguf_name.ends_with(suffix)) continue;
    const std::string_view stem = gguf_name.substr(0, gguf_name.size() - suffix.size());
    for (const GgufName& name : architecture.tensors) {
      if (suffix == ".bias" && name.bias == GgufPresence::kNever) continue;
      if (const std::optional<std::int64_t> layer = match_pattern(name.gguf, stem))
        return GgufMatch{&name, *layer, std::string(suffix)};
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::string gguf_name_of(const GgufName& name, std::int64_t layer, std::string_view suffix) {
  return fill_layer(name.gguf, layer).append(suffix);
}

std::optional<std::string> hf_name(const GgufArchitecture& architecture, std::string_view gguf_name) {
  const std::optional<GgufMatch> match = match_gguf_name(architecture, gguf_name);
  if (!match) return std::nullopt;
  return fill_layer(match->name->hf, match->layer).append(match->suffix);
}

}  // namespace tessera
