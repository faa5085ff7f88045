// map, select, reject, selectattr, rejectattr.
#include <array>

#include "tessera/base/error.h"
#include "tessera/text/jinja/filters.h"
#include "tessera/text/jinja/key_of.h"

namespace tessera::jinja {
namespace {

std::string take_name(Machine& m, Arguments& a, std::string_view what) {
  require(!a.positional.empty(), Errc::kInvalid, "{} needs the name of a filter, test or attribute", what);
  const Value name = a.positional.front();
  require(name.is_text(), Errc::kInvalid, "{} needs a name, and {} is given", what, m.repr_of(name));
  a.positional.erase(a.positional.begin());
  return name.text();
}

Value map(Machine& m, const Value& value, Arguments a) {
  Values mapped;
  if (a.positional.empty()) {
    Value attribute, otherwise;
    bool has_default = false;
    for (auto& [name, argument] : a.named) {
      require(name == "attribute" || name == "default", Errc::kInvalid, "Unexpected keyword argument '{}'", name);
      has_default = has_default || name == "default";
      (name == "attribute" ? attribute : otherwise) = argument;
    }
    require(!attribute.is_none(), Errc::kInvalid, "map requires a filter argument");
    for (const Value& item : m.items_of(value))
      mapped.push_back(part_of(m, item, attribute, has_default ? &otherwise : nullptr));
  } else {
    const std::string name = take_name(m, a, "map");
    for (const Value& item : m.items_of(value)) {
      m.budget().step();
      mapped.push_back(m.apply_filter(name, item, a));
      if (mapped.back().is_text()) m.budget().make(mapped.back().text().size());
    }
  }
  return Value::list(std::move(mapped), SequenceKind::kIterator);
}

enum class Look { kAtItem, kAtAttribute };
template <Look look, bool wanted>
Value choose(Machine& m, const Value& value, Arguments a) {
  Value attribute;
  if (look == Look::kAtAttribute) {
    require(!a.positional.empty(), Errc::kInvalid, "Missing parameter for attribute name");
    attribute = a.positional.front();
    a.positional.erase(a.positional.begin());
  }
  const bool has_test = !a.positional.empty();
  const std::string test = has_test ? take_name(m, a, "select") : "";
  Values chosen;
  for (const Value& item : m.items_of(value)) {
    m.budget().step();
    const Value looked_at = part_of(m, item, attribute);
    const bool holds = has_test ? m.apply_test(test, looked_at, a) : looked_at.is_true();
    if (holds == wanted) chosen.push_back(item);
  }
  return Value::list(std::move(chosen), SequenceKind::kIterator);
}

constexpr std::array kFilters = {
    Filter{"map", map},
    Filter{"reject", choose<Look::kAtItem, false>},
    Filter{"rejectattr", choose<Look::kAtAttribute, false>},
    Filter{"select", choose<Look::kAtItem, true>},
    Filter{"selectattr", choose<Look::kAtAttribute, true>},
};

}  // namespace

std::span<const Filter> choice_filters() { return kFilters; }

}  // namespace tessera::jinja
