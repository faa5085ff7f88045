// The parts of the Python module, in the order in which they are bound, and what they share.
#pragma once
#include <nanobind/nanobind.h>

#include <string>

#include "tessera/base/json.h"
#include "tessera/numeric/writer.h"

namespace tessera::python {

namespace nb = nanobind;

void bind_errors(nb::module_& m);
void bind_numeric(nb::module_& m);
void bind_array(nb::module_& m);
void bind_quantize(nb::module_& m);
void bind_checkpoint(nb::module_& m);
void bind_work(nb::module_& m);

nb::object to_python(const Json& json);
Format format_of(nb::handle name_or_format);  // throws kNotFound, listing the names; kInvalid for anything else
Sense parse_sense(const std::string& word);   // throws kInvalid

// The threads for work on this many bytes: 0 wanted means one for each processor, but none that would have less than a
// moment's work. No result depends on it.
int threads_for(std::size_t bytes, int wanted);

}  // namespace tessera::python
