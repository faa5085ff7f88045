// ByteLevel: the bytes that the characters of the tokens stand for; U+FFFD for what is no UTF-8.
#pragma once
#include "tessera/base/utf8.h"
#include "tessera/text/byte_alphabet.h"
#include "tessera/text/decoder.h"

namespace tessera::decoders {

class ByteLevel final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) append_symbol_bytes(token, bytes);
    tokens = {replace_invalid_utf8(bytes)};
  }
};

inline std::unique_ptr<Decoder> make_byte_level(const Json& json) {
  static_cast<void>(json);
  return std::make_unique<ByteLevel>();
}
inline constexpr DecoderKind byte_level{"ByteLevel", &make_byte_level};

}  // namespace tessera::decoders
