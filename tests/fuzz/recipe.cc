// A recipe: YAML, its rules, and the patterns against names. Laws: a rule that is taken has a format that exists and
// patterns; assigning is a function of the recipe and the names.
#include "tessera/weights/recipe.h"

#include <array>

#include "tests/fuzz/untrusted.h"

namespace {

const std::array<std::string, 5> kNames{"model.embed_tokens", "model.layers.0.self_attn.q_proj",
                                        "model.layers.11.mlp.experts.3.up_proj", "lm_head", ""};

void check(std::string_view text) {
  const tessera::Recipe recipe = tessera::Recipe::parse(tessera::parse_yaml(text), "recipe.yaml");
  TESSERA_ASSERT(!recipe.rules().empty());
  for (const tessera::RecipeRule& rule : recipe.rules()) {
    TESSERA_ASSERT(!rule.match.empty());
    TESSERA_ASSERT(tessera::find_format(rule.weight.name).name == rule.weight.name);
    for (const std::string& pattern : rule.match)
      for (const std::string& name : kNames)
        TESSERA_ASSERT(!tessera::recipe_pattern_matches(pattern, name) || tessera::recipe_pattern_matches("**", name));
  }
  const auto assigned = recipe.assign(kNames);
  TESSERA_ASSERT(assigned.size() == kNames.size() && assigned == recipe.assign(kNames));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return tessera::fuzz::answer(data, size, check);
}
