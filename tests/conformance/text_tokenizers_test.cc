// Tokenizers against the tokenizers library's answers: ids, byte offsets, decoded text, the text of a stream.
// tests/data/text/README.md tells what a case holds.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/utf8.h"
#include "tessera/text/decode_stream.h"
#include "tessera/text/tokenizer.h"

namespace tessera {
namespace {

std::string data_path(const std::string& name) { return std::string(TESSERA_TEST_DATA) + "/text/" + name; }
Json data_json(const std::string& name) { return parse_json(read_file(data_path(name))); }

std::string ids_text(const std::vector<std::int32_t>& ids) { return fmt::format("{}", fmt::join(ids, " ")); }
std::string ids_text(const Json& ids) {
  std::string text;
  for (const Json& id : ids.as_array()) text += fmt::format("{}{}", text.empty() ? "" : " ", id.as_int64());
  return text;
}
std::string ranges_text(const std::vector<ByteRange>& ranges) {
  std::string text;
  for (const ByteRange& r : ranges) text += fmt::format("[{}, {}] ", r.begin, r.end);
  return text;
}
std::string ranges_text(const Json& ranges) {
  std::string text;
  for (const Json& r : ranges.as_array())
    text += fmt::format("[{}, {}] ", r.as_array()[0].as_int64(), r.as_array()[1].as_int64());
  return text;
}

// `decoded` is true where it is the text itself.
std::string expected_text(const Json& value, const std::string& text) {
  return value.is_bool() ? text : value.as_string();
}

// What the library emits after each id; null where it waits.
void check_stream(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids, const Json& expected) {
  DecodeStream stream(tokenizer, SpecialTokens::kWith);
  const JsonArray& steps = expected.as_array();
  ASSERT_EQ(steps.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(stream.push(ids[i]), steps[i].is_null() ? "" : steps[i].as_string()) << "after id " << i;
}

// Returns how many properties were compared.
int check_case(const Tokenizer& tokenizer, const Json& c, const std::string& text) {
  SCOPED_TRACE(c.string_or("name", ""));
  const Encoding encoding = tokenizer.encode(text, SpecialTokens::kWithout);
  EXPECT_EQ(ids_text(encoding.ids), ids_text(*c.find("ids")));
  EXPECT_EQ(ranges_text(encoding.offsets), ranges_text(*c.find("byte_offsets")));
  const Json* with_special = c.find("ids_with_special");
  EXPECT_EQ(ids_text(tokenizer.encode(text).ids), ids_text(*(with_special != nullptr ? with_special : c.find("ids"))));
  EXPECT_EQ(tokenizer.decode(encoding.ids), expected_text(*c.find("decoded"), text));
  EXPECT_EQ(tokenizer.decode(encoding.ids, SpecialTokens::kWithout),
            expected_text(*c.find("decoded_skip_special"), text));
  check_stream(tokenizer, encoding.ids, *c.find("stream"));
  return 6;
}

class Tokenizers : public ::testing::TestWithParam<std::string> {};

TEST_P(Tokenizers, GiveTheLibrarysAnswers) {
  const Json cases = data_json("tokenizers/" + GetParam() + ".cases.json");
  const Tokenizer tokenizer = Tokenizer::open(data_path("tokenizers/" + GetParam() + ".json"));
  EXPECT_TRUE(tokenizer.warnings().empty());
  Json texts;
  const Json inputs = data_json("inputs/texts.json");
  for (const Json& t : inputs.as_array()) texts.set(t.string_or("name", ""), *t.find("text"));
  int compared = 0;
  for (const Json& c : cases.find("cases")->as_array()) {
    const Json* text = c.find("text") != nullptr ? c.find("text") : texts.find(c.string_or("name", ""));
    ASSERT_NE(text, nullptr);
    compared += check_case(tokenizer, c, text->as_string());
  }
  EXPECT_GE(compared, 65 * 6);
}

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  const Json index = data_json("tokenizers/index.json");
  for (const Json& entry : index.as_array()) names.push_back(entry.string_or("name", ""));
  return names;
}
INSTANTIATE_TEST_SUITE_P(Kinds, Tokenizers, ::testing::ValuesIn(kinds()), [](const auto& kind) { return kind.param; });

TEST(TokenizerOfSmolLM2, GivesTheLibrarysAnswers) {
  const std::string folder = std::string(TESSERA_TEST_DATA) + "/gguf_import/smollm2";
  const Tokenizer tokenizer = Tokenizer::open(folder);
  const Json cases = data_json("smollm2/tokens.json");
  for (const Json& c : cases.find("texts")->as_array()) check_case(tokenizer, c, c.string_or("text", ""));
  const Json chat = data_json("smollm2/chat.json");
  for (const Json& c : chat.find("conversations")->as_array()) {
    if (c.find("rendered") == nullptr) continue;
    EXPECT_EQ(ids_text(tokenizer.encode(c.string_or("rendered", "")).ids), ids_text(*c.find("ids")));
  }
  for (const Json& c : cases.find("invalid_utf8")->as_array()) {
    if (c.find("byte_token_ids") == nullptr) continue;
    std::vector<std::int32_t> ids;
    for (const Json& id : c.find("byte_token_ids")->as_array()) ids.push_back(static_cast<std::int32_t>(id.as_int64()));
    EXPECT_EQ(tokenizer.decode(ids), c.string_or("decoded", "")) << c.string_or("name", "");
  }
}

TEST(Tokenizer, RefusesBytesThatAreNotUtf8) {
  const Tokenizer tokenizer = Tokenizer::open(data_path("tokenizers/gpt2.json"));
  int refused = 0;
  const Json inputs = data_json("inputs/invalid_utf8.json");
  for (const Json& c : inputs.as_array()) {
    const std::string hex = c.string_or("bytes_hex", "");
    std::string bytes = "ok ";
    for (std::size_t i = 0; i < hex.size(); i += 2)
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    if (is_utf8(bytes)) continue;
    try {
      tokenizer.encode(bytes);
      ADD_FAILURE() << c.string_or("name", "");
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::kInvalid);
      EXPECT_NE(e.message().find("not UTF-8: byte"), std::string::npos) << e.message();
      ++refused;
    }
  }
  EXPECT_GE(refused, 5);
}

}  // namespace
}  // namespace tessera
