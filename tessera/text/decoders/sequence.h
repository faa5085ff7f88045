// Sequence: decoders one after the other.
#pragma once
#include <vector>

#include "tessera/text/decoder.h"

namespace tessera::decoders {

class Sequence final : public Decoder {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Decoder>> steps) : steps_(std::move(steps)) {}

  void decode(std::vector<std::string>& tokens) const override {
    for (const auto& step : steps_) step->decode(tokens);
  }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
};

inline std::unique_ptr<Decoder> make_sequence(const Json& json) {
  std::vector<std::unique_ptr<Decoder>> steps;
  for (const Json& step : field(json, "decoders").as_array()) steps.push_back(make_decoder(step));
  return std::make_unique<Sequence>(std::move(steps));
}
inline constexpr DecoderKind sequence{"Sequence", &make_sequence};

}  // namespace tessera::decoders
