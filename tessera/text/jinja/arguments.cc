#include "tessera/text/jinja/arguments.h"

#include <algorithm>

namespace tessera::jinja {

Bound::Bound(std::string_view function, Arguments arguments, std::initializer_list<std::string_view> names)
    : function_(function), names_(names), values_(names.size()), given_(names.size(), false) {
  require(arguments.positional.size() <= names.size(), Errc::kInvalid, "{}() takes {} arguments, and {} are given",
          function, names.size(), arguments.positional.size());
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    values_[i] = std::move(arguments.positional[i]);
    given_[i] = true;
  }
  for (auto& [name, value] : arguments.named) {
    const auto it = std::find(names_.begin(), names_.end(), name);
    require(it != names_.end(), Errc::kInvalid, "{}() has no parameter '{}'", function, name);
    const auto i = static_cast<std::size_t>(it - names_.begin());
    require(!given_[i], Errc::kInvalid, "{}() got '{}' twice", function, name);
    values_[i] = std::move(value);
    given_[i] = true;
  }
}

const Value& Bound::required(std::size_t i) const {
  require(given_[i], Errc::kInvalid, "{}() lacks the argument '{}'", function_, names_[i]);
  return values_[i];
}

void Bound::fail_type(std::size_t i, std::string_view wanted) const {
  if (values_[i].is_undefined()) fail(Errc::kInvalid, "{}", values_[i].undefined_message());
  fail(Errc::kInvalid, "{}(): '{}' is {}; {} is expected", function_, names_[i], values_[i].type_name(), wanted);
}

std::string Bound::text(std::size_t i, std::string_view otherwise) const {
  if (!given_[i]) return std::string(otherwise);
  if (!values_[i].is_text()) fail_type(i, "str");
  return values_[i].text();
}

std::string Bound::required_text(std::size_t i) const {
  required(i);
  return text(i, "");
}

Integer Bound::integer(std::size_t i, Integer otherwise) const {
  if (!given_[i] || values_[i].is_none()) return otherwise;
  if (!values_[i].integer()) fail_type(i, "int");
  return *values_[i].integer();
}

std::size_t Bound::count(std::size_t i, std::size_t otherwise) const {
  const Integer n = integer(i, static_cast<Integer>(otherwise));
  constexpr Integer kMost = Integer{1} << 40;
  return static_cast<std::size_t>(std::clamp(n, Integer{0}, kMost));
}

}  // namespace tessera::jinja
