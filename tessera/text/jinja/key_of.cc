#include "tessera/text/jinja/key_of.h"

#include <charconv>

#include "tessera/base/error.h"
#include "tessera/text/jinja/operators.h"
#include "tessera/text/jinja/text_operations.h"
#include "tessera/text/unicode.h"

namespace tessera::jinja {

Value part_of(Machine& machine, const Value& item, const Value& attribute, const Value* otherwise) {
  const auto known = [&](Value found) { return found.is_undefined() && otherwise != nullptr ? *otherwise : found; };
  if (attribute.is_none()) return item;
  if (!attribute.is_text()) return known(item_of(machine, item, attribute));
  Value value = item;
  for (const Value& name : split(attribute.text(), std::string("."), attribute.text().size())) {
    const std::string& text = name.text();
    int index = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), index);
    const bool is_number =
        !text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size() && index >= 0;
    value = known(item_of(machine, value, is_number ? Value(index) : name));
  }
  return value;
}

Value key_of(Machine& machine, const Value& item, const Value& attribute, bool case_sensitive) {
  Value value = part_of(machine, item, attribute);
  if (!case_sensitive && value.is_text()) return to_lower(value.text());
  return value;
}

}  // namespace tessera::jinja
