// Python's operators on the values of a template. Errors are kInvalid, in Python's manner.
#pragma once
#include <string_view>

#include "tessera/text/jinja/machine.h"
#include "tessera/text/jinja/value.h"

namespace tessera::jinja {

// op: + - * / // % **
Value apply_binary(Machine& machine, std::string_view op, const Value& left, const Value& right);
Value apply_sign(std::string_view op, const Value& value);  // + -

bool are_equal(Budget& budget, const Value& left, const Value& right, int depth = 0);
// < 0, 0, > 0. Throws for values without an order. op: for the message.
int order_of(Budget& budget, const Value& left, const Value& right, std::string_view op = "<");
bool contains(Machine& machine, const Value& whole, const Value& part);

// value.name: a method or attribute, else the entry of a dict. value[key]: the entry first. Undefined when there is
// none; throws for an attribute of what is undefined.
Value attribute_of(Machine& machine, const Value& value, std::string_view name);
Value item_of(Machine& machine, const Value& value, const Value& key);
// begin, end, step: None where absent.
Value slice_of(Machine& machine, const Value& value, const Value& begin, const Value& end, const Value& step);

const Value* find_key(Budget& budget, const Dict& dict, const Value& key);
void require_hashable(const Value& key);
std::size_t length_of(const Value& value);  // throws for what has none

// Throws what the use of an undefined value is.
[[noreturn]] void fail_undefined(const Value& value);

}  // namespace tessera::jinja
