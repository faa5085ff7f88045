// Python's string literals: read here, written by repr().
#pragma once
#include <string>
#include <string_view>

namespace tessera::jinja {

// What stands between the quotes, with \n, \x41, \u00e9, \101 and the like replaced; unknown escapes stay as they are.
// Throws kCorrupt, with the line, for an escape that is cut off.
std::string unescape_literal(std::string_view literal, int line);

std::string repr_of(std::string_view text);  // in quotes, as Python's repr

}  // namespace tessera::jinja
