// Strip: up to `start` copies of a character vanish from the beginning of each token, up to `stop` from its end.
#pragma once
#include "tessera/text/decoder.h"
#include "tessera/text/unicode.h"

namespace tessera::decoders {

class Strip final : public Decoder {
 public:
  Strip(std::string content, std::uint64_t start, std::uint64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}

  void decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view text = token;
      for (std::uint64_t i = 0; i < start_ && text.starts_with(content_); ++i) text.remove_prefix(content_.size());
      for (std::uint64_t i = 0; i < stop_ && text.ends_with(content_); ++i) text.remove_suffix(content_.size());
      token = std::string(text);
    }
  }

 private:
  std::string content_;
  std::uint64_t start_, stop_;
};

inline std::unique_ptr<Decoder> make_strip(const Json& json) {
  std::string content = string_field(json, "content");
  require(count_code_points(content) == 1, Errc::kCorrupt, "\"content\" is '{}'; one character is expected",
          printable(content));
  return std::make_unique<Strip>(std::move(content), field(json, "start").as_uint64(), field(json, "stop").as_uint64());
}
inline constexpr DecoderKind strip{"Strip", &make_strip};

}  // namespace tessera::decoders
