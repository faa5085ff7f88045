// Sequence: normalizers one after the other.
#pragma once
#include <vector>

#include "tessera/text/normalizer.h"

namespace tessera::normalizers {

class Sequence final : public Normalizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}

  void normalize(AlignedText& text) const override {
    for (const auto& step : steps_) step->normalize(text);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

inline std::unique_ptr<Normalizer> make_sequence(const Json& json) {
  std::vector<std::unique_ptr<Normalizer>> steps;
  for (const Json& step : field(json, "normalizers").as_array()) steps.push_back(make_normalizer(step));
  return std::make_unique<Sequence>(std::move(steps));
}
inline constexpr NormalizerKind sequence{"Sequence", &make_sequence};

}  // namespace tessera::normalizers
