// Values as text: Python's str and repr, and JSON.
#pragma once
#include <optional>
#include <string>

#include "tessera/text/jinja/machine.h"
#include "tessera/text/jinja/value.h"

namespace tessera::jinja {

std::string decimal_of(Integer value);
std::string float_repr(double value);  // shortest digits that read back the same: 1.0, 1e-07, 1e+16, inf

struct JsonStyle {
  std::optional<std::size_t> indent{};
  std::string item_separator{}, key_separator{};
  bool ascii = false, sorted = false;
};
// As Python's json.dumps. Throws kInvalid for values that JSON has not.
std::string json_of(Machine& machine, const Value& value, const JsonStyle& style);

}  // namespace tessera::jinja
