#include "tessera/infer/server/text_listener.h"

#include <gtest/gtest.h>

#include "tessera/base/utf8.h"

namespace tessera::server {
namespace {

class TextListenerTest : public ::testing::Test {
 protected:
  // Everything that is told of the tokens of `text`, or of those before `stop`.
  TextEvent read(const std::vector<std::int32_t>& ids, std::vector<std::string> stops, BatchEnd end) {
    const auto queue = std::make_shared<TextQueue>();
    TextListener listener(tokens_, queue, {.stops = std::move(stops), .tells_tokens = true});
    for (const std::int32_t id : ids)
      if (!listener.on_token({.id = id, .logprob = -1, .top = {{id, -1}}})) {
        end = BatchEnd::kStopped;
        break;
      }
    listener.on_end(end, nullptr);
    TextEvent all;
    while (!all.end) {
      TextEvent event = *queue->pop([] { return false; });
      EXPECT_TRUE(is_utf8(event.text));
      all.text += event.text;
      for (ToldToken& token : event.tokens) all.tokens.push_back(std::move(token));
      all.end = event.end;
    }
    return all;
  }
  std::vector<std::int32_t> ids(const std::string& text) const { return tokenizer_.encode(text).ids; }

  Tokenizer tokenizer_ = Tokenizer::open(std::string(TESSERA_TEST_DATA) + "/gguf_import/smollm2");
  TokenText tokens_{tokenizer_};
};

std::string bytes_of(const std::vector<ToldToken>& tokens) {
  std::string bytes;
  for (const ToldToken& token : tokens) bytes += token.bytes;
  return bytes;
}

TEST_F(TextListenerTest, TellsTokensWhoseBytesAreTheText) {
  const std::string text = "h\u00e9 \U0001F600 end";
  const TextEvent event = read(ids(text), {}, BatchEnd::kEnd);
  EXPECT_EQ(event.text, text);
  EXPECT_EQ(bytes_of(event.tokens), text);
  EXPECT_EQ(event.tokens.size(), ids(text).size());
  EXPECT_EQ(event.tokens.back().offset, 4);  // characters before " end"
  EXPECT_EQ(event.end->reason, "stop");
  EXPECT_EQ(event.end->tokens, static_cast<std::int64_t>(ids(text).size()) + 1);
}

TEST_F(TextListenerTest, LeavesTheTokensOfAStopStringOut) {
  const TextEvent event = read(ids("one two three four"), {"two three"}, BatchEnd::kLength);
  EXPECT_EQ(event.text, "one ");
  EXPECT_EQ(bytes_of(event.tokens), "one two");  // " two" begins in the text
  EXPECT_EQ(event.end->reason, "stop");
  EXPECT_EQ(event.end->tokens, 3);
}

TEST_F(TextListenerTest, GivesWhatWasHeldBackAtTheEnd) {
  EXPECT_EQ(read(ids("one two"), {"two three"}, BatchEnd::kLength).text, "one two");
  EXPECT_EQ(read(ids("one two"), {"two three"}, BatchEnd::kLength).end->reason, "length");
  const std::vector<std::int32_t> face = ids("\U0001F600");
  const TextEvent cut = read({face[0]}, {}, BatchEnd::kLength);
  EXPECT_EQ(cut.text, "\uFFFD");
  EXPECT_EQ(bytes_of(cut.tokens), std::string("\U0001F600").substr(0, cut.tokens[0].bytes.size()));
}

TEST_F(TextListenerTest, SaysWhyItFailed) {
  EXPECT_EQ(read(ids("a"), {}, BatchEnd::kCancelled).end->reason, "");
  EXPECT_FALSE(read(ids("a"), {}, BatchEnd::kCancelled).end->error.empty());
}

}  // namespace
}  // namespace tessera::server
