// Chat templates against jinja2 as transformers sets it up: every conversation through every template, byte for byte.
// tests/data/text/README.md tells what a case holds.
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/text/chat_template.h"
#include "tessera/text/unicode.h"

namespace tessera {
namespace {

std::string data_path(const std::string& name) { return std::string(TESSERA_TEST_DATA) + "/text/" + name; }
Json data_json(const std::string& name) { return parse_json(read_file(data_path(name))); }

// The clock of the fixtures: Thursday 2024-07-04 09:08:07.
std::tm fixture_time() {
  std::tm now{};
  now.tm_year = 124;
  now.tm_mon = 6;
  now.tm_mday = 4;
  now.tm_hour = 9;
  now.tm_min = 8;
  now.tm_sec = 7;
  now.tm_wday = 4;
  now.tm_yday = 185;
  return now;
}

// tools and documents are none where a conversation has none, as apply_chat_template passes them.
Json variables_of(const Json& conversation) {
  Json variables;
  variables.set("tools", nullptr);
  variables.set("documents", nullptr);
  variables.set("messages", *conversation.find("messages"));
  if (const Json* arguments = conversation.find("arguments"))
    for (const auto& [name, value] : arguments->as_object()) variables.set(name, value);
  return variables;
}

std::string spans_in_code_points(const RenderedTemplate& rendered) {
  std::string text;
  const auto count = [&](std::size_t bytes) {
    return count_code_points(std::string_view(rendered.text).substr(0, bytes));
  };
  for (const TextSpan& span : rendered.generated) text += fmt::format("[{}, {}] ", count(span.begin), count(span.end));
  return text;
}

class Templates : public ::testing::TestWithParam<std::string> {};

TEST_P(Templates, RenderAsJinja2Does) {
  const Json cases = data_json("templates/" + GetParam() + ".json");
  const Json conversations = data_json("inputs/conversations.json");
  const ChatTemplate chat = ChatTemplate::open(data_path("inputs/templates/" + GetParam() + ".jinja"));
  const JsonArray& all = cases.find("cases")->as_array();
  ASSERT_EQ(all.size(), conversations.as_array().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& expected = all[i];
    const Json& conversation = conversations.as_array()[i];
    SCOPED_TRACE(expected.string_or("name", ""));
    ASSERT_EQ(expected.string_or("name", ""), conversation.string_or("name", ""));
    try {
      const RenderedTemplate rendered = chat.render(variables_of(conversation), fixture_time());
      ASSERT_NE(expected.find("rendered"), nullptr) << "an error is expected: " << expected.string_or("message", "");
      EXPECT_EQ(rendered.text, expected.string_or("rendered", ""));
      if (const Json* spans = expected.find("assistant_spans")) {
        std::string text;
        for (const Json& s : spans->as_array())
          text += fmt::format("[{}, {}] ", s.as_array()[0].as_int64(), s.as_array()[1].as_int64());
        EXPECT_EQ(spans_in_code_points(rendered), text);
      }
    } catch (const Error& e) {
      ASSERT_NE(expected.find("error"), nullptr) << e.what();
      EXPECT_TRUE(e.message().starts_with("line ")) << e.message();
      if (expected.string_or("error", "") == "TemplateError") {  // raise_exception: its text must reach the user
        EXPECT_NE(e.message().find(expected.string_or("message", "?")), std::string::npos) << e.message();
      }
    }
  }
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  const Json index = data_json("templates/index.json");
  for (const Json& entry : index.as_array()) names.push_back(entry.string_or("name", ""));
  return names;
}
INSTANTIATE_TEST_SUITE_P(Files, Templates, ::testing::ValuesIn(template_names()),
                         [](const auto& name) { return name.param; });

// One-line templates, mostly wrong ones.
TEST(SmallTemplates, RenderOrFailAsJinja2Does) {
  const Json cases = data_json("templates/small.json");
  for (const Json& c : cases.as_array()) {
    SCOPED_TRACE(c.string_or("template", ""));
    try {
      const std::string text =
          ChatTemplate::parse(c.string_or("template", "")).render(JsonObject{}, fixture_time()).text;
      ASSERT_NE(c.find("rendered"), nullptr) << "an error is expected: " << c.string_or("message", "");
      EXPECT_EQ(text, c.string_or("rendered", ""));
    } catch (const Error& e) {
      ASSERT_NE(c.find("error"), nullptr) << e.what();
      EXPECT_TRUE(e.message().starts_with("line ")) << e.message();
      if (c.string_or("name", "") == "raise") {
        EXPECT_EQ(e.message(), "line 1: stop here: 42");
      }
    }
  }
}

TEST(TemplateOfSmolLM2, RendersAsTransformersDoes) {
  const ChatTemplate chat = ChatTemplate::open(std::string(TESSERA_TEST_DATA) + "/gguf_import/smollm2");
  const ChatTemplate from_config =
      ChatTemplate::open(std::string(TESSERA_TEST_DATA) + "/gguf_import/smollm2/tokenizer_config.json");
  const Json cases = data_json("smollm2/chat.json");
  for (const Json& c : cases.find("conversations")->as_array()) {
    SCOPED_TRACE(c.string_or("name", ""));
    if (c.find("messages")->as_array().empty()) continue;  // transformers refuses them before any template is asked
    try {
      EXPECT_EQ(chat.render(c, fixture_time()).text, c.string_or("rendered", "?"));
      EXPECT_EQ(from_config.render(c, fixture_time()).text, c.string_or("rendered", "?"));
    } catch (const Error& e) {
      EXPECT_NE(c.find("error"), nullptr) << e.what();
    }
  }
}

}  // namespace
}  // namespace tessera
