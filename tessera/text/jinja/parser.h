// From the tokens of a template to its tree.
// Source: Jinja 3.1, "Template Designer Documentation"; precedence as its parser has it.
#pragma once
#include <string_view>

#include "tessera/text/jinja/syntax.h"

namespace tessera::jinja {

// Throws kCorrupt, with the line, for text that is no template, kUnsupported for a tag, filter or test that does not
// exist or needs other templates. Trees are at most 150 levels deep, statements 50.
Block parse_template(std::string_view source);

}  // namespace tessera::jinja
