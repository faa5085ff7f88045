// BertProcessing: a token before and one after the text.
#pragma once
#include "tessera/text/post_processor.h"
#include "tessera/text/special_tokens.h"

namespace tessera::post_processors {

class Bert final : public PostProcessor {
 public:
  Bert(std::int32_t before, std::int32_t after) : before_{before}, after_{after} {}

  void process(Encoding& encoding, const PostContext& context) const override {
    if (context.add_special) surround(encoding, before_, after_);
  }

 private:
  std::vector<std::int32_t> before_, after_;
};

inline std::unique_ptr<PostProcessor> make_bert(const Json& json) {
  return std::make_unique<Bert>(named_token_id(json, "cls"), named_token_id(json, "sep"));
}
inline constexpr PostProcessorKind bert{"BertProcessing", &make_bert};

}  // namespace tessera::post_processors
