// tokenizer.json. Law: what is taken encodes any text to ids that have tokens, with offsets within the text, and
// decodes them to UTF-8, at once and as a stream.
#include "tessera/text/tokenizer.h"

#include "tessera/base/utf8.h"
#include "tessera/text/decode_stream.h"
#include "tests/fuzz/untrusted.h"

namespace {

using tessera::SpecialTokens;

void encode(const tessera::Tokenizer& tokenizer, std::string_view text) {
  const tessera::Encoding encoding = tokenizer.encode(text);
  TESSERA_ASSERT(encoding.ids.size() == encoding.offsets.size());
  for (const tessera::ByteRange& range : encoding.offsets)
    TESSERA_ASSERT(range.begin <= range.end && range.end <= text.size());
  for (const std::int32_t id : encoding.ids) TESSERA_ASSERT(id >= 0);
  TESSERA_ASSERT(tessera::is_utf8(tokenizer.decode(encoding.ids)));
  tessera::DecodeStream stream(tokenizer, SpecialTokens::kWithout);
  for (const std::int32_t id : encoding.ids) TESSERA_ASSERT(tessera::is_utf8(stream.push(id)));
  TESSERA_ASSERT(tessera::is_utf8(stream.finish()));
}

void check(std::string_view json) {
  const tessera::Tokenizer tokenizer = tessera::Tokenizer::parse(json);
  encode(tokenizer, "");
  encode(tokenizer, " Hello, world!\n\n<s> it's 123  caf\xC3\xA9 e\xCC\x81 \xE2\x96\x81\xF0\x9F\x98\x80\xE3\x80\x80 ");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return tessera::fuzz::answer(data, size, check);
}
