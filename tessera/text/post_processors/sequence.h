// Sequence: post-processors one after the other.
#pragma once
#include <vector>

#include "tessera/text/post_processor.h"

namespace tessera::post_processors {

class Sequence final : public PostProcessor {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PostProcessor>> steps) : steps_(std::move(steps)) {}

  void process(Encoding& encoding, const PostContext& context) const override {
    for (const auto& step : steps_) step->process(encoding, context);
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> steps_;
};

inline std::unique_ptr<PostProcessor> make_sequence(const Json& json) {
  std::vector<std::unique_ptr<PostProcessor>> steps;
  for (const Json& step : field(json, "processors").as_array()) steps.push_back(make_post_processor(step));
  return std::make_unique<Sequence>(std::move(steps));
}
inline constexpr PostProcessorKind sequence{"Sequence", &make_sequence};

}  // namespace tessera::post_processors
