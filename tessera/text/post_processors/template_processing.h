// TemplateProcessing: tokens before and after the text.
#pragma once
#include "tessera/text/post_processor.h"
#include "tessera/text/special_tokens.h"

namespace tessera::post_processors {

class TemplateProcessing final : public PostProcessor {
 public:
  TemplateProcessing(std::vector<std::int32_t> before, std::vector<std::int32_t> after)
      : before_(std::move(before)), after_(std::move(after)) {}

  void process(Encoding& encoding, const PostContext& context) const override {
    if (context.add_special) surround(encoding, before_, after_);
  }

 private:
  std::vector<std::int32_t> before_, after_;
};

inline std::unique_ptr<PostProcessor> make_template_processing(const Json& json) {
  std::vector<std::int32_t> before, after;
  bool met_text = false;
  for (const Json& item : field(json, "single").as_array()) {
    if (const Json* whole = item.find("Sequence")) {
      require(!met_text && whole->string_or("id", "A") == "A", Errc::kCorrupt,
              "\"single\" has {}; one text A is expected", printable(item.dump()));
      met_text = true;
      continue;
    }
    const std::string name = string_field(field(item, "SpecialToken"), "id");
    const Json* special = field(json, "special_tokens").find(name);
    require(special != nullptr, Errc::kCorrupt, "\"special_tokens\" lacks '{}'", printable(name));
    for (const Json& id : field(*special, "ids").as_array()) (met_text ? after : before).push_back(token_id(id));
  }
  require(met_text, Errc::kCorrupt, "\"single\" has no text A");
  return std::make_unique<TemplateProcessing>(std::move(before), std::move(after));
}
inline constexpr PostProcessorKind template_processing{"TemplateProcessing", &make_template_processing};

}  // namespace tessera::post_processors
