#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "tessera/base/error.h"
#include "tessera/text/jinja/arguments.h"
#include "tessera/text/jinja/filters.h"
#include "tessera/text/jinja/key_of.h"
#include "tessera/text/jinja/operators.h"
#include "tessera/text/merge_sort.h"

namespace tessera::jinja {
namespace {

Value iterator(Values items) { return Value::list(std::move(items), SequenceKind::kIterator); }

Value first(Machine& m, const Value& value, Arguments a) {
  const Bound b("first", std::move(a), {});
  const Values items = m.items_of(value);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value last(Machine& m, const Value& value, Arguments a) {
  const Bound b("last", std::move(a), {});
  const Values items = m.items_of(value);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value length(Machine&, const Value& value, Arguments a) {
  const Bound b("length", std::move(a), {});
  return Value::of_size(length_of(value));
}

Value as_list(Machine& m, const Value& value, Arguments a) {
  const Bound b("list", std::move(a), {});
  return Value::list(m.items_of(value));
}

Value join(Machine& m, const Value& value, Arguments a) {
  const Bound b("join", std::move(a), {"d", "attribute"});
  const std::string separator = b.has(0) ? m.text_of(b.value(0)) : "";
  std::string text;
  bool begins = true;
  for (const Value& item : m.items_of(value)) {
    if (!begins) text += separator;
    begins = false;
    text += m.text_of(part_of(m, item, b.value(1)));
    m.budget().require_text(text.size());
  }
  return text;
}

Value reverse(Machine& m, const Value& value, Arguments a) {
  const Bound b("reverse", std::move(a), {});
  Values items = m.items_of(value);
  std::reverse(items.begin(), items.end());
  if (!value.is_text()) return iterator(std::move(items));
  std::string text;
  for (const Value& item : items) text += item.text();
  return text;
}

Value sort(Machine& m, const Value& value, Arguments a) {
  const Bound b("sort", std::move(a), {"reverse", "case_sensitive", "attribute"});
  const bool case_sensitive = b.flag(1, false), descending = b.flag(0, false);
  // Several attributes, "a,b", make a tuple each.
  Values attributes;
  if (b.value(2).is_text()) {
    const std::string& names = b.value(2).text();
    for (std::size_t at = 0; at <= names.size();) {
      const std::size_t comma = std::min(names.find(',', at), names.size());
      attributes.emplace_back(names.substr(at, comma - at));
      at = comma + 1;
    }
  } else {
    attributes = {b.value(2)};
  }
  std::vector<std::pair<Values, Value>> keyed;
  for (Value& item : m.items_of(value)) {
    Values keys;
    for (const Value& attribute : attributes) keys.push_back(key_of(m, item, attribute, case_sensitive));
    keyed.emplace_back(std::move(keys), std::move(item));
  }
  const auto comes_before = [&](const auto& x, const auto& y) {
    const auto& [p, q] = descending ? std::tie(y.first, x.first) : std::tie(x.first, y.first);
    for (std::size_t i = 0; i < p.size(); ++i)
      if (const int order = order_of(m.budget(), p[i], q[i])) return order < 0;
    return false;
  };
  merge_sort(std::span(keyed), comes_before);
  Values items;
  for (auto& [keys, item] : keyed) items.push_back(std::move(item));
  return Value::list(std::move(items));
}

template <int sign>
Value extreme(Machine& m, const Value& value, Arguments a) {
  const Bound b("min", std::move(a), {"case_sensitive", "attribute"});
  const bool case_sensitive = b.flag(0, false);
  const Values items = m.items_of(value);
  if (items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const Value* best = &items[0];
  Value best_key = key_of(m, items[0], b.value(1), case_sensitive);
  for (const Value& item : items) {
    Value key = key_of(m, item, b.value(1), case_sensitive);
    if (sign * order_of(m.budget(), key, best_key) <= 0) continue;
    best = &item;
    best_key = std::move(key);
  }
  return *best;
}

Value sum(Machine& m, const Value& value, Arguments a) {
  const Bound b("sum", std::move(a), {"attribute", "start"});
  Value total = b.value(1, 0);
  for (const Value& item : m.items_of(value)) total = apply_binary(m, "+", total, part_of(m, item, b.value(0)));
  return total;
}

Value unique(Machine& m, const Value& value, Arguments a) {
  const Bound b("unique", std::move(a), {"case_sensitive", "attribute"});
  Values keys, items;
  for (const Value& item : m.items_of(value)) {
    Value key = key_of(m, item, b.value(1), b.flag(0, false));
    const bool known =
        std::any_of(keys.begin(), keys.end(), [&](const Value& k) { return are_equal(m.budget(), k, key); });
    if (known) continue;
    keys.push_back(std::move(key));
    items.push_back(item);
  }
  return iterator(std::move(items));
}

Value batch(Machine& m, const Value& value, Arguments a) {
  const Bound b("batch", std::move(a), {"linecount", "fill_with"});
  b.required(0);
  const std::size_t size = b.count(0, 1);
  Values lines, line;
  for (Value& item : m.items_of(value)) {
    if (line.size() == size) lines.push_back(Value::list(std::exchange(line, {})));
    line.push_back(std::move(item));
  }
  if (!line.empty()) {
    if (!b.value(1).is_none() && line.size() < size) {
      m.budget().make((size - line.size()) * sizeof(Value));
      line.resize(size, b.value(1));
    }
    lines.push_back(Value::list(std::move(line)));
  }
  return iterator(std::move(lines));
}

Value slice(Machine& m, const Value& value, Arguments a) {
  const Bound b("slice", std::move(a), {"slices", "fill_with"});
  b.required(0);
  const std::size_t slices = b.count(0, 1);
  require(slices > 0, Errc::kInvalid, "division by zero");
  const Values items = m.items_of(value);
  const std::size_t per = items.size() / slices, longer = items.size() % slices;
  m.budget().make(slices * 2 * sizeof(Value));
  Values columns;
  std::size_t at = 0;
  for (std::size_t i = 0; i < slices; ++i) {
    const std::size_t count = per + (i < longer ? 1 : 0);
    Values column(items.begin() + static_cast<std::ptrdiff_t>(at),
                  items.begin() + static_cast<std::ptrdiff_t>(at + count));
    at += count;
    if (!b.value(1).is_none() && i >= longer) column.push_back(b.value(1));
    columns.push_back(Value::list(std::move(column)));
  }
  return iterator(std::move(columns));
}

Value items_of_dict(Machine&, const Value& value, Arguments a) {
  const Bound b("items", std::move(a), {});
  if (value.is_undefined()) return iterator({});
  require(value.dict() != nullptr, Errc::kInvalid, "Can only get item pairs from a mapping.");
  Values pairs;
  for (const auto& [key, item] : value.dict()->pairs) pairs.push_back(Value::list({key, item}, SequenceKind::kTuple));
  return iterator(std::move(pairs));
}

Value sort_dict(Machine& m, const Value& value, Arguments a) {
  const Bound b("dictsort", std::move(a), {"case_sensitive", "by", "reverse"});
  const std::string by = b.text(1, "key");
  require(by == "key" || by == "value", Errc::kInvalid, "You can only sort by either \"key\" or \"value\"");
  if (value.is_undefined()) fail_undefined(value);
  require(value.dict() != nullptr, Errc::kInvalid, "'{}' object has no attribute 'items'", value.type_name());
  Values pairs;
  for (const auto& [key, item] : value.dict()->pairs) pairs.push_back(Value::list({key, item}, SequenceKind::kTuple));
  Arguments how{.positional = {Value(b.flag(2, false)), Value(b.flag(0, false)), Value(by == "key" ? 0 : 1)},
                .named = {}};
  return sort(m, Value::list(std::move(pairs)), std::move(how));
}

Value group_by(Machine& m, const Value& value, Arguments a) {
  const Bound b("groupby", std::move(a), {"attribute", "default", "case_sensitive"});
  const Value& attribute = b.required(0);
  const bool case_sensitive = b.flag(2, false);
  const Value otherwise = b.value(1);
  const auto key_at = [&](const Value& item) { return part_of(m, item, attribute, b.has(1) ? &otherwise : nullptr); };
  const auto compared = [&](const Value& key) { return key_of(m, key, Value(), case_sensitive); };
  std::vector<std::pair<Value, Value>> keyed;  // key, item
  for (Value& item : m.items_of(value)) {
    Value key = key_at(item);
    keyed.emplace_back(std::move(key), std::move(item));
  }
  merge_sort(std::span(keyed), [&](const auto& x, const auto& y) {
    return order_of(m.budget(), compared(x.first), compared(y.first)) < 0;
  });
  Values groups;
  for (std::size_t i = 0; i < keyed.size();) {
    const Value key = keyed[i].first;
    Values group;
    for (; i < keyed.size() && are_equal(m.budget(), compared(keyed[i].first), compared(key)); ++i)
      group.push_back(keyed[i].second);
    groups.push_back(Value::list({key, Value::list(std::move(group))}, SequenceKind::kTuple, kGroupLabel));
  }
  return Value::list(std::move(groups));
}

constexpr std::array kFilters = {
    Filter{"batch", batch},     Filter{"count", length},     Filter{"dictsort", sort_dict},
    Filter{"first", first},     Filter{"groupby", group_by}, Filter{"items", items_of_dict},
    Filter{"join", join},       Filter{"last", last},        Filter{"length", length},
    Filter{"list", as_list},    Filter{"max", extreme<1>},   Filter{"min", extreme<-1>},
    Filter{"reverse", reverse}, Filter{"slice", slice},      Filter{"sort", sort},
    Filter{"sum", sum},         Filter{"unique", unique},
};

}  // namespace

std::span<const Filter> list_filters() { return kFilters; }

}  // namespace tessera::jinja
