// A Recipe says which weights are quantized and how: rules in order, the first that matches a module wins.
//
//   rules:
//     - match: "model.layers.*.mlp.experts.**"      # `*` stays within a part of a name, `**` crosses dots, {a,b} is a
//     choice
//       weight: nvfp4                                 # a format, or {format: nvfp4, writer: four-over-six}
//     - match: ["**.q_proj", "**.k_proj"]
//       weight: fp8_channel
//     - match: "**"
//       weight: bf16                                  # dense: stays as it is
//
// A format's name alone is a recipe: it takes every linear layer, and leaves embeddings, norms, routers and lm_head.
// Errors are kInvalid and name the rule. A rule that matches nothing is an error (nothing is silent).
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/tensor/quantized_tensor.h"

namespace tessera {

struct RecipeRule {
  std::vector<std::string> match;
  Format weight;                   // dense: leave the module as it is
  const Writer* writer = nullptr;  // null: the target dialect's own
  std::string source;              // "rule 2 of recipes/mixed.yaml", for messages
};

class Recipe final {
 public:
  // The name of a format, or the path of a YAML file. `settings`: "rules.0.weight=mxfp8", applied over the file.
  static Recipe read(const std::string& name_or_file, std::span<const std::string> settings = {});
  static Recipe parse(const Json& document, const std::string& where);
  static Recipe plain(const Format& format);

  // The rule for each of these modules; null where none matches: the module stays as it is. Throws kInvalid for a rule
  // that matches none of them, listing a few that there are.
  std::vector<const RecipeRule*> assign(std::span<const std::string> modules) const;
  std::span<const RecipeRule> rules() const { return rules_; }
  bool is_plain() const { return plain_; }  // a format's name

 private:
  bool plain_ = false;
  std::vector<RecipeRule> rules_;
};

// Whether a pattern of a recipe matches a whole name.
bool recipe_pattern_matches(std::string_view pattern, std::string_view name);

}  // namespace tessera
