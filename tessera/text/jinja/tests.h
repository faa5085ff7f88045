// Tests: value is name(arguments). Those of Jinja 3.1.
#pragma once
#include <string>
#include <string_view>

#include "tessera/text/jinja/machine.h"

namespace tessera::jinja {

struct Test {
  std::string_view name;
  bool (*holds)(Machine& machine, const Value& value, Arguments arguments);
};

const Test* find_test(std::string_view name);  // null: there is none
std::string test_names();                      // with commas between

}  // namespace tessera::jinja
