// Methods of texts, lists and dicts: those of Python that change nothing.
#pragma once
#include <optional>
#include <string_view>

#include "tessera/text/jinja/value.h"

namespace tessera::jinja {

// value.name as a function. None: there is no such method. What a sandbox forbids is an undefined value that says so.
std::optional<Value> method_of(const Value& value, std::string_view name);

}  // namespace tessera::jinja
