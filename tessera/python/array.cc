#include "tessera/python/array.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "tessera/base/error.h"
#include "tessera/tensor/dlpack.h"

namespace tessera::python {
namespace {

constexpr const char* kCapsule = "dltensor";

nb::dlpack::dtype dlpack_type(DType dtype) {
  DlManagedTensor* managed = to_dlpack(Tensor(dtype, {0}));
  const DlDataType t = managed->tensor.dtype;
  managed->deleter(managed);
  return {t.code, t.bits, t.lanes};
}

constexpr nb::dlpack::dtype unsigned_bits(int bits) {
  return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt), static_cast<std::uint8_t>(bits), 1};
}

// NumPy has no bfloat16 of its own: ml_dtypes adds one that neither DLPack nor the buffer protocol carries.
bool is_numpy_bfloat16(nb::handle array) {
  if (!nb::hasattr(array, "dtype") || !nb::hasattr(array, "view")) return false;
  const nb::object module = array.type().attr("__module__"),
                   name = nb::getattr(array.attr("dtype"), "name", nb::none());
  return module.equal(nb::str("numpy")) && name.equal(nb::str("bfloat16"));
}

// What DLPack says of an array that it does not give: "Can't export tensors that require gradient".
std::string reason_of(nb::handle array) {
  if (!nb::hasattr(array, "__dlpack__")) return "it has neither __dlpack__ nor the buffer protocol";
  try {
    array.attr("__dlpack__")();
  } catch (const nb::python_error& e) {
    return nb::str(e.value()).c_str();
  }
  return "its DLPack capsule cannot be read";
}

using Given = nb::ndarray<nb::ro, nb::c_contig>;

struct Import {  // what from_dlpack() takes: the array, and DLPack's description of it
  Given array;
  DlManagedTensor managed{};
};

Tensor adopt(const Given& array, const std::string& dtype) {
  require(array.device_type() == nb::device::cpu::value, Errc::kUnsupported,
          "the array is on DLPack device type {}; the Python module works on the CPU (1): move it there",
          array.device_type());
  nb::dlpack::dtype type = array.dtype();
  if (!dtype.empty()) {
    const nb::dlpack::dtype wanted = dlpack_type(parse_dtype(dtype));
    require(
        type == wanted || type == unsigned_bits(wanted.bits), Errc::kInvalid,
        "dtype='{}' names the meaning of unsigned integers of {} bits; the array's DLPack type is code {} of {} bits",
        dtype, wanted.bits, type.code, type.bits);
    type = wanted;
  }
  auto import = std::make_unique<Import>(Import{array, {}});
  DlTensor& t = import->managed.tensor;
  t.data = const_cast<void*>(array.data());  // nothing writes into the arrays that are given
  t.device = {1, 0};
  t.ndim = static_cast<std::int32_t>(array.ndim());
  t.dtype = {type.code, type.bits, type.lanes};
  t.shape = const_cast<std::int64_t*>(array.shape_ptr());
  import->managed.context = import.get();
  import->managed.deleter = [](DlManagedTensor* managed) {
    const nb::gil_scoped_acquire gil;
    delete static_cast<Import*>(managed->context);
  };
  Tensor tensor = from_dlpack(&import->managed);
  static_cast<void>(import.release());  // the tensor's buffer has it
  return tensor;
}

std::vector<std::size_t> unsigned_shape(const Tensor& t) { return {t.shape().begin(), t.shape().end()}; }

nb::object numpy_view(const Tensor& t, nb::dlpack::dtype dtype, const std::vector<std::size_t>& shape) {
  static std::byte nothing;  // an ndarray without a pointer is None
  const nb::capsule owner(new Tensor(t), [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  void* data = t.data() != nullptr ? t.data() : &nothing;
  return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, dtype),
                  nb::rv_policy::reference);
}

nb::object to_numpy(const Tensor& t) {
  require(t.dtype() != DType::kBf16 && dlpack_type(t.dtype()).bits > 0, Errc::kUnsupported,
          "NumPy has no {}: bits() gives the stored words, torch.from_dlpack(array) the values", dtype_word(t.dtype()));
  return numpy_view(t, dlpack_type(t.dtype()), unsigned_shape(t));
}

nb::object to_bits(const Tensor& t) {
  const int bits = dtype_bits(t.dtype());
  if (bits < 8) return numpy_view(t, unsigned_bits(8), {t.bytes()});
  return numpy_view(t, unsigned_bits(bits), unsigned_shape(t));
}

nb::object to_capsule(const Tensor& t, const nb::kwargs&) {
  DlManagedTensor* managed = to_dlpack(t);
  PyObject* capsule = PyCapsule_New(managed, kCapsule, [](PyObject* self) {
    if (PyCapsule_IsValid(self, kCapsule) == 0) return;  // taken: whoever did that has renamed it
    auto* held = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(self, kCapsule));
    held->deleter(held);
  });
  if (capsule == nullptr) managed->deleter(managed);
  return nb::steal(capsule);
}

nb::object as_array(const Tensor& t, nb::handle dtype, nb::handle copy) {
  nb::object array = to_numpy(t);
  if (!dtype.is_none()) array = array.attr("astype")(dtype, nb::arg("copy") = false);
  if (nb::isinstance<nb::bool_>(copy) && nb::cast<bool>(copy)) array = array.attr("copy")();
  return array;
}

}  // namespace

std::string dtype_word(DType dtype) {
  std::string word(dtype_name(dtype));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

DType parse_dtype(const std::string& word) {
  std::string known;
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype_word(dtype) == word) return dtype;
    known.append(known.empty() ? "" : ", ").append(dtype_word(dtype));
  }
  fail(Errc::kNotFound, "no dtype '{}'; there are: {}", word, known);
}

nb::tuple shape_tuple(std::span<const std::int64_t> shape) {
  nb::list list;
  for (const std::int64_t n : shape) list.append(n);
  return nb::tuple(list);
}

Tensor tensor_of(nb::handle array, const std::string& dtype) {
  if (nb::isinstance<Tensor>(array)) {
    const Tensor& t = nb::cast<const Tensor&>(array);
    require(dtype.empty() || parse_dtype(dtype) == t.dtype(), Errc::kInvalid, "dtype='{}' for an array of {}", dtype,
            dtype_word(t.dtype()));
    return t;
  }
  if (is_numpy_bfloat16(array)) return tensor_of(array.attr("view")("uint16"), dtype.empty() ? "bf16" : dtype);
  Given given;
  if (!nb::try_cast(array, given))
    fail(Errc::kInvalid, "{} is not taken as an array: {}", nb::str(array.type().attr("__name__")).c_str(),
         reason_of(array));
  return adopt(given, dtype);
}

void bind_array(nb::module_& m) {
  nb::class_<Tensor>(m, "Array", "A row-major array on the CPU. numpy(), bits() and DLPack give views of its bytes.")
      .def_prop_ro(
          "dtype", [](const Tensor& t) { return dtype_word(t.dtype()); }, "'f32', 'bf16', 'f8_e4m3', ...")
      .def_prop_ro("shape", [](const Tensor& t) { return shape_tuple(t.shape()); })
      .def_prop_ro("nbytes", &Tensor::bytes)
      .def("numpy", &to_numpy, "A NumPy view. UnsupportedError where NumPy lacks the dtype (bf16, f8): see bits().")
      .def("bits", &to_bits, "A NumPy view of the stored words as unsigned integers; below 8 bits: of the bytes.")
      .def("__array__", &as_array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__dlpack__", &to_capsule)
      .def("__dlpack_device__", [](const Tensor&) { return nb::make_tuple(1, 0); })
      .def("__len__",
           [](const Tensor& t) {
             require(!t.shape().empty(), Errc::kShape, "a scalar has no length");
             return t.shape()[0];
           })
      .def("__repr__", [](const Tensor& t) {
        return fmt::format("tessera.Array({}, {})", dtype_word(t.dtype()), shape_text(t.shape()));
      });
}

}  // namespace tessera::python
