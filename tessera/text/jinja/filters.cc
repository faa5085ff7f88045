#include "tessera/text/jinja/filters.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tessera::jinja {
namespace {

std::array<std::span<const Filter>, 4> all_filters() {
  return {text_filters(), list_filters(), choice_filters(), value_filters()};
}

}  // namespace

const Filter* find_filter(std::string_view name) {
  for (const std::span<const Filter> filters : all_filters())
    for (const Filter& filter : filters)
      if (filter.name == name) return &filter;
  return nullptr;
}

std::string filter_names() {
  std::vector<std::string_view> sorted;
  for (const std::span<const Filter> filters : all_filters())
    for (const Filter& filter : filters) sorted.push_back(filter.name);
  std::sort(sorted.begin(), sorted.end());
  std::string names;
  for (const std::string_view name : sorted) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

}  // namespace tessera::jinja
