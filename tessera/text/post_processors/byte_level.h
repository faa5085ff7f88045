// ByteLevel: trims offsets where trim_offsets says so.
#pragma once
#include "tessera/text/post_processor.h"

namespace tessera::post_processors {

class ByteLevel final : public PostProcessor {
 public:
  ByteLevel(bool trims, bool adds_prefix_space) : trims_(trims), adds_prefix_space_(adds_prefix_space) {}

  void process(Encoding& encoding, const PostContext& context) const override {
    if (trims_) trim_offsets(encoding, context, adds_prefix_space_);
  }

 private:
  bool trims_, adds_prefix_space_;
};

inline std::unique_ptr<PostProcessor> make_byte_level(const Json& json) {
  return std::make_unique<ByteLevel>(bool_field(json, "trim_offsets", true),
                                     bool_field(json, "add_prefix_space", true));
}
inline constexpr PostProcessorKind byte_level{"ByteLevel", &make_byte_level};

}  // namespace tessera::post_processors
