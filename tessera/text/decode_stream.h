// DecodeStream: the text of tokens that come one by one. Emits whole UTF-8 only: what may still change waits.
//
//   DecodeStream stream(tokenizer);
//   while (...) print(stream.push(next_id));
//   print(stream.finish());
//
// Law: what is emitted, joined, is the decoded text of all ids, except where a decoder looks at the beginning of a
// text only (tests/conformance/text_tokenizers_test.cc). Memory and time a token: a few tokens, whatever came before.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/text/tokenizer.h"

namespace tessera {

class DecodeStream final {
 public:
  // The tokenizer has to outlive the stream.
  explicit DecodeStream(const Tokenizer& tokenizer, SpecialTokens special = SpecialTokens::kWithout)
      : tokenizer_(tokenizer), special_(special) {}

  std::string push(std::int32_t id);  // the text that is certain now; "": none yet
  std::string finish();  // what waited, with U+FFFD for bytes that stayed incomplete; the stream is new then

 private:
  std::string restart();

  const Tokenizer& tokenizer_;
  SpecialTokens special_;
  std::vector<std::int32_t> ids_;  // those emitted last, which tell how the next ones are written, and those that wait
  std::string emitted_;            // the text of the former
  std::size_t emitted_ids_ = 0;
};

}  // namespace tessera
