// '{} {name:>5}'.format(...).
#pragma once
#include <string>

#include "tessera/text/jinja/machine.h"

namespace tessera::jinja {

// Throws kInvalid for a field that the arguments lack, and for braces that do not match.
std::string brace_format(Machine& machine, const std::string& text, Arguments arguments);

}  // namespace tessera::jinja
