// Filters: value | name(arguments). Those of Jinja 3.1, with the tojson of transformers.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "tessera/text/jinja/machine.h"

namespace tessera::jinja {

struct Filter {
  std::string_view name;
  Value (*apply)(Machine& machine, const Value& value, Arguments arguments);
};

const Filter* find_filter(std::string_view name);  // null: there is none
std::string filter_names();                        // with commas between

std::span<const Filter> text_filters();    // filters_of_texts.cc
std::span<const Filter> list_filters();    // filters_of_lists.cc
std::span<const Filter> choice_filters();  // filters_that_choose.cc
std::span<const Filter> value_filters();   // filters_of_values.cc

}  // namespace tessera::jinja
