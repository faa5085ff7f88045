// Every Error becomes the class of its code in tessera/_errors.py.
#include <nanobind/stl/string.h>

#include "tessera/base/error.h"
#include "tessera/python/bindings.h"

namespace tessera::python {
namespace {

nb::object or_none(const std::string& text) {
  if (text.empty()) return nb::none();
  return nb::str(text.c_str());
}

void raise(const Error& e) {
  nb::list notes;
  for (const std::string& note : e.notes()) notes.append("while " + note);
  const nb::object make = nb::module_::import_("tessera._errors").attr("make");
  const nb::object error =
      make(std::string(errc_name(e.code())), e.message(), notes, or_none(e.file()), or_none(e.tensor()));
  PyErr_SetObject(error.type().ptr(), error.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& e) {
    try {
      raise(e);
    } catch (nb::python_error& failed) {
      failed.restore();
    }
  }
}

}  // namespace

void bind_errors(nb::module_& m) {
  nb::register_exception_translator(&translate);
  nb::list codes;
  for (int i = 0; i <= static_cast<int>(Errc::kPeer); ++i) codes.append(std::string(errc_name(static_cast<Errc>(i))));
  m.attr("error_codes") = nb::tuple(codes);
}

nb::object to_python(const Json& json) {
  if (json.is_null()) return nb::none();
  if (json.is_bool()) return nb::bool_(json.as_bool());
  if (json.is_string()) return nb::cast(json.as_string());
  if (json.is_array()) {
    nb::list list;
    for (const Json& item : json.as_array()) list.append(to_python(item));
    return list;
  }
  if (json.is_object()) {
    nb::dict dict;
    for (const auto& [key, value] : json.as_object()) dict[nb::cast(key)] = to_python(value);
    return dict;
  }
  if (!json.is_integer()) return nb::float_(json.as_double());
  try {
    return nb::cast(json.as_int64());
  } catch (const Error&) {  // beyond 2^63
    return nb::cast(json.as_uint64());
  }
}

}  // namespace tessera::python
