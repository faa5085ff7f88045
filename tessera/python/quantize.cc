// QuantizedTensor, and quantizing arrays.
#include "tessera/kernels/quantize.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "tessera/base/error.h"
#include "tessera/numeric/describe.h"
#include "tessera/python/array.h"
#include "tessera/python/bindings.h"

namespace tessera::python {
namespace {

using namespace nb::literals;

Tensor matrix_of(nb::handle array, const std::string& dtype) {
  Tensor x = tensor_of(array, dtype);
  require(x.shape().size() == 2, Errc::kShape, "a matrix [rows, cols] is wanted; the array is {}",
          shape_text(x.shape()));
  return x;
}

Tensor part_of_shape(nb::handle array, DType dtype, Shape shape, std::string_view part) {
  const Tensor t = tensor_of(array);
  require(t.dtype() == dtype, Errc::kInvalid, "{} are {}; this format keeps {}", part, dtype_word(t.dtype()),
          dtype_word(dtype));
  require(t.count() == element_count(shape), Errc::kShape, "{} are {}; {} fits the format and the shape", part,
          shape_text(t.shape()), shape_text(shape));
  return t.reshaped(std::move(shape));
}

void make_quantized(QuantizedTensor* self, nb::handle format, std::pair<std::int64_t, std::int64_t> shape,
                    nb::handle codes, nb::handle scales, nb::handle global, const std::string& sense) {
  require(shape.first >= 0 && shape.second >= 0, Errc::kShape, "shape ({}, {}) is negative", shape.first, shape.second);
  const Format wanted = format_of(format);
  require(wanted.is_scaled(), Errc::kInvalid, "{} has no scales: an array holds it", format_label(wanted));
  QuantizedTensor q = empty_quantized(wanted, {shape.first, shape.second});
  require(q.format.has_global != global.is_none(), Errc::kInvalid, "{} {} a global, and global_ is {}",
          format_label(q.format), q.format.has_global ? "has" : "has not", global.is_none() ? "None" : "given");
  q.codes = part_of_shape(codes, DType::kU8, q.codes.shape(), "codes");
  q.scales = part_of_shape(scales, q.scales.dtype(), q.scales.shape(), "scales");
  if (q.format.has_global) q.global = part_of_shape(global, DType::kF32, {1}, "global_");
  q.sense = parse_sense(sense);
  validate(q);
  new (self) QuantizedTensor(std::move(q));
}

QuantizedTensor quantize_array(nb::handle array, nb::handle format, const std::string& writer,
                               std::optional<float> tensor_amax, std::uint64_t seed, std::uint64_t stream,
                               const std::string& dtype, int threads) {
  const Tensor x = matrix_of(array, dtype);
  const OperandSpec spec{format_of(format), &find_writer(writer)};
  QuantizeContext where{.key = {seed, stream}};
  if (tensor_amax) {
    require(*tensor_amax >= 0, Errc::kInvalid, "tensor_amax is {}; a maximum of magnitudes is not negative",
            *tensor_amax);
    where.maxima = Maxima{*tensor_amax};
  }
  const nb::gil_scoped_release released;
  Stream work(kCpu, threads_for(x.bytes(), threads));
  return quantize(work, x, spec, where);
}

QuantizedTensor encode_array_like(nb::handle array, const QuantizedTensor& like, const std::string& writer,
                                  std::uint64_t seed, std::uint64_t stream, const std::string& dtype, int threads) {
  const Tensor x = matrix_of(array, dtype);
  const OperandSpec spec{like.format, &find_writer(writer)};
  const nb::gil_scoped_release released;
  Stream work(kCpu, threads_for(x.bytes(), threads));
  return encode_like(work, x, spec, like, {.key = {seed, stream}});
}

Tensor dequantize_tensor(const QuantizedTensor& q, const std::string& dtype, int threads) {
  const DType to = parse_dtype(dtype);
  const nb::gil_scoped_release released;
  Stream work(kCpu, threads_for(static_cast<std::size_t>(q.extent.count()) * 4, threads));
  return dequantize(work, q, to);
}

float amax_of(nb::handle array, const std::string& dtype, int threads) {
  const Tensor x = tensor_of(array, dtype);
  const nb::gil_scoped_release released;
  Stream work(kCpu, threads_for(x.bytes(), threads));
  return observe(work, x).tensor;
}

void bind_quantized_tensor(nb::module_& m) {
  nb::class_<QuantizedTensor>(
      m, "QuantizedTensor",
      "A matrix of small floats with their scales, exactly as stored. Its arrays are views of the same bytes.")
      .def("__init__", &make_quantized, "format"_a, "shape"_a, "codes"_a, "scales"_a, "global_"_a = nb::none(),
           nb::kw_only(), "sense"_a = "multiply", "From parts that another library made; they are shared, not copied.")
      .def_prop_ro("format", [](const QuantizedTensor& q) { return q.format; })
      .def_prop_ro("shape", [](const QuantizedTensor& q) { return nb::make_tuple(q.extent.rows, q.extent.cols); })
      .def_prop_ro(
          "codes", [](const QuantizedTensor& q) { return q.codes; },
          "u8 [rows, bytes of a row]; 4-bit codes stand two a byte, low nibble first")
      .def_prop_ro(
          "scales", [](const QuantizedTensor& q) { return q.scales; },
          "u8 codes of the format's scale, or f32: [rows, cols] of the grid of blocks")
      .def_prop_ro(
          "global_",
          [](const QuantizedTensor& q) -> nb::object {
            if (!q.format.has_global) return nb::none();
            return nb::cast(q.global);
          },
          "f32 [segments], the stored bits; None where the format has none")
      .def_prop_ro(
          "sense", [](const QuantizedTensor& q) { return sense_name(q.sense); },
          "what the global does: 'multiply', 'divide' or 'reciprocal_first'")
      .def_ro("segment_ends", &QuantizedTensor::segment_ends, "row after each segment; [] for one, the whole")
      .def_prop_ro("nbytes", &QuantizedTensor::bytes)
      .def("__repr__", [](const QuantizedTensor& q) {
        return fmt::format("tessera.QuantizedTensor({}, [{}, {}], {} bytes)", format_label(q.format), q.extent.rows,
                           q.extent.cols, q.bytes());
      });
}

}  // namespace

void bind_quantize(nb::module_& m) {
  bind_quantized_tensor(m);
  m.def("quantize", &quantize_array, "array"_a, "format"_a, "writer"_a = "nearest", nb::kw_only(),
        "tensor_amax"_a = nb::none(), "seed"_a = 0, "stream"_a = 0, "dtype"_a = "", "threads"_a = 0,
        "Quantizes a matrix along its last axis, with the bits that `writer` would choose.\n\n"
        "array: [rows, cols] of f32, f16 or bf16; dtype='bf16' for bf16 bits in a uint16 array.\n"
        "tensor_amax: the largest magnitude of a group that shares one global (see amax()).\n"
        "seed, stream: of stochastic rounding.");
  m.def("encode_like", &encode_array_like, "array"_a, "like"_a, "writer"_a = "nearest", nb::kw_only(), "seed"_a = 0,
        "stream"_a = 0, "dtype"_a = "", "threads"_a = 0,
        "Codes of a matrix under the scales and the global of `like`.\n"
        "Law: encode_like(dequantize(q), q) has q's values.");
  m.def("dequantize", &dequantize_tensor, "quantized"_a, "dtype"_a = "f32", nb::kw_only(), "threads"_a = 0,
        "The values, computed in f32 in the exporter's order and rounded once to 'f32', 'bf16' or 'f16'.");
  m.def("amax", &amax_of, "array"_a, nb::kw_only(), "dtype"_a = "", "threads"_a = 0,
        "The largest magnitude; a NaN is above all numbers.");
}

}  // namespace tessera::python
