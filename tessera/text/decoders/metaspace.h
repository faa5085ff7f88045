// Metaspace: marks become spaces; those that the first token begins with vanish where the encoder adds one.
#pragma once
#include "tessera/text/decoder.h"
#include "tessera/text/metaspace.h"

namespace tessera::decoders {

class Metaspace final : public Decoder {
 public:
  Metaspace(std::string mark, bool adds_prefix) : mark_(std::move(mark)), adds_prefix_(adds_prefix) {}

  void decode(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::string_view space = i == 0 && adds_prefix_ ? "" : " ";
      std::string text;
      std::size_t done = 0;
      for (std::size_t at = tokens[i].find(mark_); at != std::string::npos; at = tokens[i].find(mark_, done)) {
        text.append(tokens[i], done, at - done).append(space);
        done = at + mark_.size();
      }
      tokens[i] = text.append(tokens[i], done);
    }
  }

 private:
  std::string mark_;
  bool adds_prefix_;
};

inline std::unique_ptr<Decoder> make_metaspace(const Json& json) {
  return std::make_unique<Metaspace>(metaspace_mark(json), metaspace_prefix(json) != MetaspacePrefix::kNever);
}
inline constexpr DecoderKind metaspace{"Metaspace", &make_metaspace};

}  // namespace tessera::decoders
