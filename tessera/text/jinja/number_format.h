// Numbers and texts as Python's format specifications say: [[fill]align][sign][#][0][width][,][.precision][type].
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "tessera/text/jinja/machine.h"

namespace tessera::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = 0;  // < > ^ =, or 0: the type's own
  char sign = '-';
  bool alternate = false;
  char group = 0;  // , or _
  std::size_t width = 0;
  std::optional<std::size_t> precision{};
  char type = 0;
};

// Throws kInvalid for a specification that Python would not read either.
FormatSpec parse_format_spec(std::string_view text);
std::string format_value(Machine& machine, const Value& value, const FormatSpec& spec);

}  // namespace tessera::jinja
