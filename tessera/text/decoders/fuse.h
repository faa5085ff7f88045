// Fuse: all tokens become one.
#pragma once
#include "tessera/text/decoder.h"

namespace tessera::decoders {

class Fuse final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens = {std::move(all)};
  }
};

inline std::unique_ptr<Decoder> make_fuse(const Json& json) {
  static_cast<void>(json);
  return std::make_unique<Fuse>();
}
inline constexpr DecoderKind fuse{"Fuse", &make_fuse};

}  // namespace tessera::decoders
