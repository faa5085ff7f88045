#include "tessera/text/chat_template.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/base/error.h"
#include "tessera/text/conversation.h"

namespace tessera {
namespace {

struct Refusal {
  std::string code, message;
};

Refusal refusal(const std::string& source, const TemplateLimits& limits = {}) {
  try {
    ChatTemplate::parse(source).render(JsonObject{}, std::tm{}, limits);
  } catch (const Error& e) {
    return {std::string(errc_name(e.code())), e.message()};
  }
  return {};
}

std::string rendered(const std::string& source, const Json& variables = JsonObject{}) {
  return ChatTemplate::parse(source).render(variables, std::tm{}).text;
}

TEST(ChatTemplate, NamesTheLineOfAnError) {
  EXPECT_EQ(refusal("a\nb\n{{ 1 +\n'a' }}").message.substr(0, 7), "line 3:");
  EXPECT_EQ(refusal("{% set x = 1 %}\n\n{% if x %}{{ x.y.z }}{% endif %}").message.substr(0, 7), "line 3:");
  EXPECT_EQ(refusal("{#\n\n#}{% frob %}").message.substr(0, 7), "line 3:");
}

TEST(ChatTemplate, RefusesWhatIsNotKnownBeforeItIsReached) {
  EXPECT_EQ(refusal("{% if false %}{{ 1 | frob }}{% endif %}").code, "unsupported");
  EXPECT_EQ(refusal("{% if false %}{{ 1 is frob }}{% endif %}").code, "unsupported");
  EXPECT_EQ(refusal("{% if false %}{% include 'x' %}{% endif %}").code, "unsupported");
}

TEST(ChatTemplate, StaysWithinItsLimits) {
  const TemplateLimits limits{.steps = 100'000, .bytes = 1u << 20, .text = 1u << 16, .depth = 100};
  const char* const traps[] = {
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
      "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
      "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
      "{% set ns = namespace(x=[]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
      "{% set ns = namespace(x=[]) %}{% for i in range(999) %}{% set ns.x = [ns.x] %}{% endfor %}",
      "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
      "{{ 'a' * 10 ** 12 }}",
      "{{ '%99999999d' % 1 }}",
      "{{ 'a'.center(10 ** 12) }}",
      "{{ 'aaaa' | replace('', 'x' * 60000) }}",
      "{{ ([[1] * 5000] * 500) | tojson }}",
      "{{ 'x' | indent(10 ** 9) }}",
  };
  for (const char* trap : traps) EXPECT_EQ(refusal(trap, limits).code, "resource") << trap;
}

TEST(ChatTemplate, RefusesTreesThatAreTooDeep) {
  const auto repeated = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  EXPECT_EQ(refusal("{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}").code, "resource");
  EXPECT_EQ(refusal("{{ 1" + repeated(" + 1", 5000) + " }}").code, "resource");
  EXPECT_EQ(refusal("{{ " + repeated("-", 5000) + "1 }}").code, "resource");
  EXPECT_EQ(refusal("{{ x" + repeated("[0]", 5000) + " }}").code, "resource");
  EXPECT_EQ(refusal("{{ x" + repeated(" | trim", 5000) + " }}").code, "resource");
  EXPECT_EQ(refusal(repeated("{% if 1 %}", 5000)).code, "resource");
  EXPECT_EQ(refusal("{% for " + repeated("(", 5000) + "a" + repeated(")", 5000) + " in x %}{% endfor %}").code,
            "resource");
}

// Expected: jinja2's scopes.
TEST(ChatTemplate, KeepsWhatALoopSetsWithinTheLoop) {
  EXPECT_EQ(rendered("{% set s = 1 %}{% for a in [1, 2] %}{% set s = s + a %}{{ s }} {% endfor %}{{ s }}"), "2 3 1");
  EXPECT_EQ(rendered("{% if true %}{% set s = 9 %}{% endif %}{{ s }}"), "9");
}

TEST(ChatTemplate, LetsAMethodOutliveItsLoop) {
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% for x in [1, 2] %}{% set ns.c = loop.cycle %}{% endfor %}"
                     "{{ ns.c('a', 'b') }}"),
            "b");
}

TEST(Conversation, NeedsMessages) {
  const ChatTemplate chat = ChatTemplate::parse("{{ messages | length }}{{ tools is none }}");
  EXPECT_THROW(render_conversation(chat, JsonArray{}, JsonObject{}, std::tm{}), Error);
  EXPECT_THROW(render_conversation(chat, JsonObject{}, JsonObject{}, std::tm{}), Error);
  EXPECT_EQ(render_conversation(chat, parse_json(R"([{"role": "user"}])"), JsonObject{}, std::tm{}).text, "1True");
}

TEST(Conversation, TakesSpecialTokensFromBothSpellings) {
  const Json config = parse_json(R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": null})");
  EXPECT_EQ(special_token_variables(config), parse_json(R"({"bos_token": "<s>", "eos_token": "</s>"})"));
}

}  // namespace
}  // namespace tessera
