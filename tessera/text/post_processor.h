// PostProcessor: adds the tokens that a model expects around a text, and trims offsets.
// Source: the tokenizers library, which the fixtures of tests/data/text come from.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/base/json.h"
#include "tessera/text/encoding.h"
#include "tessera/text/part_kind.h"

namespace tessera {

// What a post-processor may look at.
struct PostContext {
  std::string_view text;                                         // that was encoded
  bool add_special = true;                                       // the tokens around it are wanted
  const std::function<const std::string*(std::int32_t)>& token;  // the token of an id; null: there is none
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  virtual void process(Encoding& encoding, const PostContext& context) const = 0;
};
using PostProcessorKind = PartKind<PostProcessor>;

// kUnsupported for an unknown kind, listing those there are; kCorrupt for wrong fields.
std::unique_ptr<PostProcessor> make_post_processor(const Json& json);

// Takes the white space that tokens begin and end with out of their offsets. keeps_prefix: a single space before the
// first token stays, as it was added to the text.
void trim_offsets(Encoding& encoding, const PostContext& context, bool keeps_prefix);

}  // namespace tessera
