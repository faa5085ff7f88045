// '%s-%05d' % values.
#pragma once
#include <string>

#include "tessera/text/jinja/machine.h"

namespace tessera::jinja {

// values: a tuple, a dict for %(name)s, or one value. Throws kInvalid for too few or too many of them.
std::string percent_format(Machine& machine, const std::string& text, const Value& values);

}  // namespace tessera::jinja
