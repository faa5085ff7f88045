#include "tessera/text/part_kind.h"

namespace tessera {

const Json& field(const Json& json, std::string_view name) {
  const Json* value = json.find(name);
  require(value != nullptr && !value->is_null(), Errc::kCorrupt, "the field \"{}\" is absent", name);
  return *value;
}

namespace {

template <class Read>
auto read_field(std::string_view name, const Read& read) {
  try {
    return read();
  } catch (Error& e) {
    e.add_note(fmt::format("reading the field \"{}\"", name));
    throw;
  }
}

}  // namespace

bool bool_field(const Json& json, std::string_view name, bool otherwise) {
  const Json* value = json.find(name);
  if (value == nullptr || value->is_null()) return otherwise;
  return read_field(name, [&] { return value->as_bool(); });
}

std::string string_field(const Json& json, std::string_view name) {
  return read_field(name, [&] { return field(json, name).as_string(); });
}

std::string string_field(const Json& json, std::string_view name, std::string_view otherwise) {
  const Json* value = json.find(name);
  if (value == nullptr || value->is_null()) return std::string(otherwise);
  return read_field(name, [&] { return value->as_string(); });
}

}  // namespace tessera
