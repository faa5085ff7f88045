#include "tessera/weights/recipe.h"

#include <sys/stat.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/io/container.h"
#include "tessera/io/module_names.h"

namespace tessera {
namespace {

// Matches within one alternative: no braces left. `*` takes characters but dots, `**` any, `?` one that is no dot.
// reached[i]: the pattern so far can have taken the first i characters; so time is the product of both lengths.
bool plain_matches(std::string_view pattern, std::string_view name) {
  std::vector<char> reached(name.size() + 1, 0);
  reached[0] = 1;
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    const bool star = pattern[p] == '*', crosses = star && p + 1 < pattern.size() && pattern[p + 1] == '*';
    if (crosses) ++p;
    std::vector<char> next(name.size() + 1, 0);
    for (std::size_t i = 0; i <= name.size(); ++i) {
      if (star)
        next[i] = reached[i] || (i > 0 && next[i - 1] && (crosses || name[i - 1] != '.'));
      else
        next[i] = i > 0 && reached[i - 1] && (pattern[p] == '?' ? name[i - 1] != '.' : pattern[p] == name[i - 1]);
    }
    reached = std::move(next);
  }
  return reached[name.size()] != 0;
}

// The patterns that the first {a,b} of `pattern` stands for, and so on until none is left.
void expand(const std::string& pattern, std::vector<std::string>& into) {
  const std::size_t open = pattern.find('{'), close = pattern.find('}', open);
  if (open == std::string::npos || close == std::string::npos) {
    into.push_back(pattern);
    return;
  }
  require(into.size() < 1000, Errc::kInvalid, "the pattern '{}' stands for more than 1000", pattern);
  std::size_t begin = open + 1;
  while (begin <= close) {
    const std::size_t end = std::min(pattern.find(',', begin), close);
    expand(pattern.substr(0, open) + pattern.substr(begin, end - begin) + pattern.substr(close + 1), into);
    begin = end + 1;
  }
}

void require_keys(const Json& object, std::span<const std::string_view> known, const std::string& where) {
  for (const auto& [key, value] : object.as_object())
    require(std::find(known.begin(), known.end(), key) != known.end(), Errc::kInvalid, "{}: no key '{}'; there are: {}",
            where, key, fmt::join(known, ", "));
}

// A weight's format and writer: "nvfp4" or {format: nvfp4, writer: four-over-six}.
void read_weight(const Json& value, RecipeRule& rule) {
  constexpr std::string_view kKeys[] = {"format", "writer"};
  if (value.is_string()) {
    rule.weight = find_format(value.as_string());
    return;
  }
  require(value.is_object(), Errc::kInvalid, "{}: weight is {}; a format's name or {{format, writer}} is wanted",
          rule.source, value.dump());
  require_keys(value, kKeys, rule.source + ", weight");
  const std::string format = value.string_or("format", "");
  require(!format.empty(), Errc::kInvalid, "{}: weight has no format", rule.source);
  rule.weight = find_format(format);
  const std::string writer = value.string_or("writer", "");
  if (!writer.empty()) rule.writer = &find_writer(writer);
}

RecipeRule read_rule(const Json& value, std::string source) {
  RecipeRule rule{.match = {}, .weight = {}, .source = std::move(source)};
  require(value.is_object(), Errc::kInvalid, "{} is {}; an object with match and weight is wanted", rule.source,
          value.dump());
  constexpr std::string_view kKeys[] = {"match", "weight", "all", "fprop"};
  require_keys(value, kKeys, rule.source);
  const Json* match = value.find("match");
  require(match != nullptr, Errc::kInvalid, "{} has no match", rule.source);
  if (match->is_string()) rule.match.push_back(match->as_string());
  if (match->is_array())
    for (const Json& pattern : match->as_array()) {
      require(pattern.is_string(), Errc::kInvalid, "{}: match holds {}; patterns are text", rule.source,
              pattern.dump());
      rule.match.push_back(pattern.as_string());
    }
  require(!rule.match.empty(), Errc::kInvalid, "{}: match is {}; a pattern or a list of them is wanted", rule.source,
          match->dump());
  // Training recipes name the operands of each GEMM; a checkpoint stores the forward GEMM's weight, fprop.b.
  const Json *weight = value.find("weight"), *all = value.find("all"), *fprop = value.find("fprop", "b");
  const int given = (weight != nullptr) + (all != nullptr) + (fprop != nullptr);
  require(given == 1, Errc::kInvalid, "{}: one of weight, all and fprop.b says the format; there are {}", rule.source,
          given);
  read_weight(*(weight != nullptr ? weight : all != nullptr ? all : fprop), rule);
  return rule;
}

// "rules.0.weight=mxfp8" put into the document.
void apply_setting(Json& document, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  require(equals != std::string::npos, Errc::kInvalid, "--set {}: KEY=VALUE is wanted", setting);
  Json* at = &document;
  std::string_view key = std::string_view(setting).substr(0, equals);
  while (true) {
    const std::size_t dot = key.find('.');
    const std::string part(key.substr(0, dot));
    const bool last = dot == std::string_view::npos;
    if (at->is_array()) {
      const bool number =
          !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
      require(number && part.size() < 6 && std::stoul(part) < at->as_array().size(), Errc::kInvalid,
              "--set {}: '{}' is no place in a list of {}", setting, part, at->as_array().size());
      at = &at->as_array()[std::stoul(part)];
      if (last) *at = parse_yaml(setting.substr(equals + 1));
    } else {
      require(at->is_object(), Errc::kInvalid, "--set {}: there is nothing inside '{}'", setting, part);
      if (last) {
        at->set(part, parse_yaml(setting.substr(equals + 1)));
      } else {
        Json* inner = at->find(part);
        require(inner != nullptr, Errc::kInvalid, "--set {}: no '{}' in the recipe", setting, part);
        at = inner;
      }
    }
    if (last) return;
    key.remove_prefix(dot + 1);
  }
}

}  // namespace

bool recipe_pattern_matches(std::string_view pattern, std::string_view name) {
  std::vector<std::string> alternatives;
  expand(std::string(pattern), alternatives);
  return std::any_of(alternatives.begin(), alternatives.end(),
                     [&](const std::string& p) { return plain_matches(p, name); });
}

Recipe Recipe::plain(const Format& format) {
  require(format.is_scaled(), Errc::kInvalid, "the recipe '{}' quantizes nothing: {} is dense", format.name,
          format.name);
  Recipe recipe;
  recipe.plain_ = true;
  recipe.rules_.push_back({.match = {"**"}, .weight = format, .source = fmt::format("recipe '{}'", format.name)});
  return recipe;
}

Recipe Recipe::parse(const Json& document, const std::string& where) {
  require(document.is_object(), Errc::kInvalid, "{}: a recipe is an object with rules", where);
  constexpr std::string_view kKeys[] = {"rules"};
  require_keys(document, kKeys, where);
  const Json* rules = document.find("rules");
  require(rules != nullptr && rules->is_array() && !rules->as_array().empty(), Errc::kInvalid,
          "{}: a recipe has a list of rules", where);
  Recipe recipe;
  for (std::size_t i = 0; i < rules->as_array().size(); ++i)
    recipe.rules_.push_back(read_rule(rules->as_array()[i], fmt::format("rule {} of {}", i, where)));
  return recipe;
}

Recipe Recipe::read(const std::string& name_or_file, std::span<const std::string> settings) {
  struct stat info{};
  if (::stat(name_or_file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    for (const Format* format : all_formats()) {
      if (format->name != name_or_file) continue;
      require(settings.empty(), Errc::kInvalid, "--set changes the recipe of a file; '{}' is a format", name_or_file);
      return plain(*format);
    }
    std::string known;
    for (const Format* format : all_formats())
      if (format->is_scaled()) known.append(known.empty() ? "" : ", ").append(format->name);
    fail(Errc::kNotFound, "no recipe '{}': neither a file nor a format; formats: {}", name_or_file, known);
  }
  const std::size_t slash = name_or_file.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : name_or_file.substr(0, slash);
  try {
    Json document =
        parse_yaml(read_side_file(folder, name_or_file.substr(slash == std::string::npos ? 0 : slash + 1), 1u << 20));
    for (const std::string& setting : settings) apply_setting(document, setting);
    return parse(document, name_or_file);
  } catch (Error& e) {
    e.in_file(name_or_file);
    e.add_note("reading the recipe " + name_or_file);
    throw;
  }
}

std::vector<const RecipeRule*> Recipe::assign(std::span<const std::string> modules) const {
  std::vector<const RecipeRule*> assigned(modules.size(), nullptr);
  for (const RecipeRule& rule : rules_) {
    std::vector<std::string> patterns;
    for (const std::string& pattern : rule.match) expand(pattern, patterns);
    std::size_t hits = 0;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      if (plain_ && module_kind(modules[i]) != ModuleKind::kLinear) continue;
      if (std::none_of(patterns.begin(), patterns.end(),
                       [&](const std::string& p) { return plain_matches(p, modules[i]); }))
        continue;
      ++hits;
      if (assigned[i] == nullptr) assigned[i] = &rule;
    }
    if (hits > 0) continue;
    std::string some;
    for (std::size_t i = 0; i < std::min<std::size_t>(4, modules.size()); ++i) some += (i > 0 ? ", " : "") + modules[i];
    fail(Errc::kInvalid, "{} (match: {}) matches none of the {} weights; there are {}{}", rule.source,
         fmt::join(rule.match, ", "), modules.size(), some.empty() ? "none" : some, modules.size() > 4 ? ", ..." : "");
  }
  return assigned;
}

}  // namespace tessera
