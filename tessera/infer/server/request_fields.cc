#include "tessera/infer/server/request_fields.h"

#include <limits>

#include "tessera/base/utf8.h"
#include "tessera/infer/server/api_error.h"

namespace tessera::server {

const Json* RequestFields::find(std::string_view name) {
  known_.emplace(name);
  const Json* value = body_.find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<bool> RequestFields::boolean(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_bool()) refuse("invalid_type", path_of(name), "{} must be true or false", path_of(name));
  return value->as_bool();
}

std::optional<double> RequestFields::number(std::string_view name, Numbers range) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) refuse("invalid_type", path_of(name), "{} must be a number", path_of(name));
  const double number = value->as_double();
  if (!(number >= range.lowest && number <= range.highest))
    refuse("invalid_value", path_of(name), "{} is {}; it must be between {} and {}", path_of(name), number,
           range.lowest, range.highest);
  return number;
}

std::optional<std::int64_t> RequestFields::whole(std::string_view name, Whole range) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_integer()) refuse("invalid_type", path_of(name), "{} must be an integer", path_of(name));
  const double rough = value->as_double();  // an unsigned number may be beyond an int64
  const bool fits = rough < 9.2e18;
  if (fits && value->as_int64() >= range.lowest && value->as_int64() <= range.highest) return value->as_int64();
  if (range.highest == std::numeric_limits<std::int64_t>::max())
    refuse("invalid_value", path_of(name), "{} is {}; it must be {} or more", path_of(name), value->dump(),
           range.lowest);
  refuse("invalid_value", path_of(name), "{} is {}; it must be between {} and {}", path_of(name), value->dump(),
         range.lowest, range.highest);
}

std::optional<std::string> RequestFields::text(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse("invalid_type", path_of(name), "{} must be a string", path_of(name));
  return value->as_string();
}

const Json& RequestFields::required(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) refuse("missing_required_parameter", path_of(name), "{} is missing", path_of(name));
  return *value;
}

const Json* RequestFields::object(std::string_view name) {
  const Json* value = find(name);
  if (value != nullptr && !value->is_object())
    refuse("invalid_type", path_of(name), "{} must be an object", path_of(name));
  return value;
}

void RequestFields::ignore(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) known_.emplace(name);
}

void RequestFields::refuse_unless(std::string_view name, const Json& neutral, std::string_view why) {
  const Json* value = find(name);
  if (value == nullptr || *value == neutral) return;
  refuse("unsupported_value", path_of(name), "{} is not offered here: {}", path_of(name), why);
}

void RequestFields::refuse_rest() const {
  for (const auto& [name, value] : body_.as_object())
    if (known_.find(name) == known_.end())
      refuse("unknown_parameter", path_of(printable(name)), "{} is not a parameter of this request",
             path_of(printable(name)));
}

}  // namespace tessera::server
