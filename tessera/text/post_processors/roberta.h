// RobertaProcessing: a token before and one after the text; trims offsets.
#pragma once
#include "tessera/text/post_processor.h"
#include "tessera/text/special_tokens.h"

namespace tessera::post_processors {

class Roberta final : public PostProcessor {
 public:
  Roberta(std::int32_t before, std::int32_t after, bool trims, bool adds_prefix_space)
      : before_{before}, after_{after}, trims_(trims), adds_prefix_space_(adds_prefix_space) {}

  void process(Encoding& encoding, const PostContext& context) const override {
    if (trims_) trim_offsets(encoding, context, adds_prefix_space_);
    if (context.add_special) surround(encoding, before_, after_);
  }

 private:
  std::vector<std::int32_t> before_, after_;
  bool trims_, adds_prefix_space_;
};

inline std::unique_ptr<PostProcessor> make_roberta(const Json& json) {
  return std::make_unique<Roberta>(named_token_id(json, "cls"), named_token_id(json, "sep"),
                                   bool_field(json, "trim_offsets", true), bool_field(json, "add_prefix_space", true));
}
inline constexpr PostProcessorKind roberta{"RobertaProcessing", &make_roberta};

}  // namespace tessera::post_processors
