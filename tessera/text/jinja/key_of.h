// What filters look at in each item: an attribute, "a.b" or 0, and texts without regard to case.
#pragma once
#include "tessera/text/jinja/machine.h"

namespace tessera::jinja {

// attribute: None, a text with dots, or an integer. otherwise: stands for what is undefined on the way; null: nothing.
Value part_of(Machine& machine, const Value& item, const Value& attribute, const Value* otherwise = nullptr);
// The same, in lower case where it is a text and `case_sensitive` is no.
Value key_of(Machine& machine, const Value& item, const Value& attribute, bool case_sensitive);

}  // namespace tessera::jinja
