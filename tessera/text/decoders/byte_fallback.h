// ByteFallback: runs of tokens <0xHH> become the text that their bytes are; U+FFFD for each byte of a run that is no
// UTF-8.
#pragma once
#include "tessera/base/utf8.h"
#include "tessera/text/byte_token.h"
#include "tessera/text/decoder.h"

namespace tessera::decoders {

class ByteFallback final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::vector<std::string> texts;
    std::string run;
    const auto end_run = [&] {
      if (run.empty()) return;
      if (is_utf8(run)) {
        texts.push_back(run);
      } else {
        for (std::size_t i = 0; i < run.size(); ++i) texts.emplace_back("\xEF\xBF\xBD");
      }
      run.clear();
    };
    for (std::string& token : tokens) {
      if (const std::optional<std::uint8_t> byte = parse_byte_token(token)) {
        run += static_cast<char>(*byte);
      } else {
        end_run();
        texts.push_back(std::move(token));
      }
    }
    end_run();
    tokens = std::move(texts);
  }
};

inline std::unique_ptr<Decoder> make_byte_fallback(const Json& json) {
  static_cast<void>(json);
  return std::make_unique<ByteFallback>();
}
inline constexpr DecoderKind byte_fallback{"ByteFallback", &make_byte_fallback};

}  // namespace tessera::decoders
