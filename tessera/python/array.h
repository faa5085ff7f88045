// Arrays of other libraries in, arrays of Tessera out: through DLPack or the buffer protocol, without a copy.
// A Tensor is called Array in Python. It owns its bytes together with every view that was taken of it.
#pragma once
#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "tessera/tensor/tensor.h"

namespace tessera::python {

namespace nb = nanobind;

std::string dtype_word(DType dtype);         // "bf16", "f8_e4m3": what Python calls a dtype
DType parse_dtype(const std::string& word);  // throws kNotFound, listing the words

// A tensor that shares the bytes of `array`, which stays alive as long as it; one that is not row-major is copied by
// its own library. `dtype`: what unsigned integers of the same width are the bits of ("bf16"); "": as the array says.
// NumPy arrays of ml_dtypes' bfloat16 are known. Throws kInvalid: no array, or one of another width; kUnsupported: not
// on the CPU, or a dtype without a counterpart.
Tensor tensor_of(nb::handle array, const std::string& dtype = "");

nb::tuple shape_tuple(std::span<const std::int64_t> shape);

void bind_array(nb::module_& m);

}  // namespace tessera::python
