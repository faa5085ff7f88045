// Checkpoint: a model on disk, understood.
#include "tessera/io/checkpoint.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <memory>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"
#include "tessera/numeric/describe.h"
#include "tessera/numeric/lanes.h"
#include "tessera/python/array.h"
#include "tessera/python/bindings.h"

namespace tessera::python {
namespace {

using namespace nb::literals;

// A stored tensor and its place in the model.
struct TensorFacts {
  std::string name, dtype, file, role, module;
  Shape shape;
  std::uint64_t bytes;
};

struct Activation {
  std::string_view scheme;
  std::optional<float> scale;
};

const Module& module_of(const Checkpoint& model, const std::string& name) {
  if (const Module* m = model.find(name)) return *m;
  constexpr std::string_view kWeight = ".weight";
  const bool weight = name.ends_with(kWeight);
  require(!weight || model.find(name.substr(0, name.size() - kWeight.size())) == nullptr, Errc::kNotFound,
          "no module '{}' in {}; modules are named without '.weight'", name, model.container().path());
  fail(Errc::kNotFound, "no module '{}' in {}; it has {} modules{}", name, model.container().path(),
       model.modules().size(), model.modules().empty() ? "" : ", the first is '" + model.modules()[0].name + "'");
}

const StoredTensor& stored_of(const Checkpoint& model, const std::string& name) {
  if (const StoredTensor* t = model.container().find(name)) return *t;
  const auto tensors = model.container().tensors();
  fail(Errc::kNotFound, "no tensor '{}' in {}; it has {} tensors{}", name, model.container().path(), tensors.size(),
       tensors.empty() ? "" : ", the first is '" + tensors[0].name + "'");
}

void require_readable(const Module& m) {
  if (m.reading.complaints.empty()) return;
  const Complaint& c = m.reading.complaints.front();
  Error error(c.code, c.message);
  error.in_tensor(c.tensor).add_note("loading " + m.name);
  throw error;
}

QuantizedTensor load(const Checkpoint& model, const std::string& name,
                     std::optional<std::pair<std::int64_t, std::int64_t>> rows) {
  const Module& m = module_of(model, name);
  require(m.is_quantized(), Errc::kInvalid, "{} is dense ({}); dequantize() and tensor() read it", name, m.codes->type);
  require_readable(m);
  const nb::gil_scoped_release released;
  return rows ? model.load_rows(m, rows->first, rows->second) : model.load(m);
}

Tensor dense_values(const Checkpoint& model, const Module& m, DType to) {
  require(m.codes->ggml_type < 0, Errc::kUnsupported,
          "{} stands in a GGUF file as {}; dequantize_checkpoint() imports such files", m.name, m.codes->type);
  require(to == DType::kF32 || to == DType::kBf16 || to == DType::kF16, Errc::kUnsupported,
          "dequantize: to {}; f32, bf16 and f16 can be written", dtype_word(to));
  const Tensor stored = model.load_tensor(*m.codes);
  if (stored.dtype() == to) return stored;
  Tensor values(to, stored.shape());
  for (std::int64_t i = 0; i < stored.count(); ++i) {
    const float value = element_as_float(stored, i);
    if (to == DType::kF32)
      values.as<float>()[i] = value;
    else
      values.as<std::uint16_t>()[i] = bits16(to, round_to(to, value));
  }
  return values;
}

Tensor dequantize_module(const Checkpoint& model, const std::string& name, const std::string& dtype, int threads) {
  const Module& m = module_of(model, name);
  const DType to = parse_dtype(dtype);
  require_readable(m);
  const nb::gil_scoped_release released;
  if (!m.is_quantized()) return dense_values(model, m, to);
  Stream stream(kCpu, threads_for(m.bytes() * 4, threads));
  return dequantize(stream, model.load(m), to);
}

Tensor load_tensor(const Checkpoint& model, const std::string& name) {
  const StoredTensor& t = stored_of(model, name);
  const nb::gil_scoped_release released;
  return model.load_tensor(t);
}

nb::list tensors_of(const Checkpoint& model) {
  nb::list list;
  for (const StoredTensor& t : model.container().tensors()) {
    const Checkpoint::Place place = model.place(t);
    list.append(TensorFacts{.name = t.name,
                            .dtype = t.ggml_type < 0 ? dtype_word(t.dtype) : t.type,
                            .file = model.container().files()[t.file].path,
                            .role = std::string(role_name(place.role)),
                            .module = place.module,
                            .shape = t.shape,
                            .bytes = t.bytes});
  }
  return list;
}

template <class Entry>
nb::list references(nb::handle model, std::span<const Entry> entries) {
  nb::list list;
  for (const Entry& e : entries) list.append(nb::cast(&e, nb::rv_policy::reference_internal, model));
  return list;
}

nb::object format_or_none(const Module& m) {
  if (!m.reading.complaints.empty()) return nb::none();
  return nb::cast(m.reading.format);
}

nb::object activation_or_none(const Module& m) {
  if (m.activation_scheme == ActivationScheme::kNone) return nb::none();
  const std::optional<float> scale = m.activation ? std::optional(m.activation->value()) : std::nullopt;
  return nb::cast(Activation{activation_name(m.activation_scheme), scale});
}

std::string_view kind_of(const Checkpoint& model) {
  return std::array<std::string_view, 3>{"folder", "file", "gguf"}[static_cast<std::size_t>(model.container().kind())];
}

void bind_facts(nb::module_& m) {
  nb::class_<StoredGlobal>(m, "Global", "The f32 over a module's block scales.")
      .def_prop_ro("value", &StoredGlobal::value, "as a multiplier")
      .def_ro("stored", &StoredGlobal::bits, "as the exporter wrote it")
      .def_prop_ro("sense", [](const StoredGlobal& g) { return sense_name(g.sense); });
  nb::class_<Activation>(m, "Activation", "How a checkpoint wants a module's activations quantized.")
      .def_ro("scheme", &Activation::scheme, "'dynamic' or 'static'")
      .def_ro("scale", &Activation::scale, "a static scale, as a multiplier");
  nb::class_<Problem>(m, "Problem", "What is wrong with a checkpoint.")
      .def_ro("code", &Problem::code)
      .def_ro("tensor", &Problem::tensor)
      .def_ro("message", &Problem::message)
      .def_ro("harmless", &Problem::harmless)
      .def("__repr__", [](const Problem& p) { return fmt::format("tessera.Problem({}: {})", p.code, p.message); });
  nb::class_<ContainerWarning>(m, "CheckpointWarning", "An oddity that loading survives.")
      .def_ro("code", &ContainerWarning::code)
      .def_ro("tensor", &ContainerWarning::tensor)
      .def_ro("message", &ContainerWarning::message)
      .def("__repr__", [](const ContainerWarning& w) {
        return fmt::format("tessera.CheckpointWarning({}: {})", w.code, w.message);
      });
  nb::class_<TensorFacts>(m, "StoredTensor", "A tensor in the file, and its place in the model.")
      .def_ro("name", &TensorFacts::name)
      .def_ro("dtype", &TensorFacts::dtype)
      .def_prop_ro("shape", [](const TensorFacts& t) { return shape_tuple(t.shape); })
      .def_ro("nbytes", &TensorFacts::bytes)
      .def_ro("file", &TensorFacts::file)
      .def_ro("role", &TensorFacts::role, "'codes', 'scales', 'global', 'activation', 'dense', 'kv_scale', 'ignored'")
      .def_ro("module", &TensorFacts::module, "'' where it has none")
      .def("__repr__", [](const TensorFacts& t) {
        return fmt::format("tessera.StoredTensor({}, {}, {}, {})", t.name, t.dtype, shape_text(t.shape), t.role);
      });
}

void bind_module(nb::module_& m) {
  nb::class_<Module>(m, "Module", "A weight of a checkpoint: quantized, or dense with two axes or more.")
      .def_ro("name", &Module::name)
      .def_prop_ro("format", &format_or_none, "None where its tensors cannot be read: see Checkpoint.problems")
      .def_prop_ro("dialect", [](const Module& w) { return w.reading.dialect->name; })
      .def_prop_ro("shape",
                   [](const Module& w) {
                     if (w.is_quantized()) return shape_tuple(std::array{w.reading.extent.rows, w.reading.extent.cols});
                     return shape_tuple(w.codes->shape);
                   })
      .def_prop_ro("is_quantized", &Module::is_quantized)
      .def_prop_ro(
          "global_", [](const Module& w) { return w.global; }, "None where the format has none")
      .def_prop_ro("activation", &activation_or_none, "None where nothing is wanted")
      .def_prop_ro("nbytes", &Module::bytes)
      .def("__repr__", [](const Module& w) {
        return fmt::format("tessera.Module({}, {}, {})", w.name,
                           w.reading.complaints.empty() ? format_label(w.reading.format) : "unreadable",
                           w.reading.dialect->name);
      });
}

Checkpoint open_checkpoint(const std::filesystem::path& path, bool strict) {
  const nb::gil_scoped_release released;
  return Checkpoint::open(path.string(), {.strict = strict});
}

}  // namespace

void bind_checkpoint(nb::module_& m) {
  bind_facts(m);
  bind_module(m);
  nb::class_<Checkpoint>(m, "Checkpoint",
                         "A model on disk, understood. Holds headers; weights are read when asked for.")
      .def_prop_ro("path", [](const Checkpoint& c) { return c.container().path(); })
      .def_prop_ro("kind", &kind_of, "'folder', 'file' or 'gguf'")
      .def_prop_ro(
          "declared",
          [](const Checkpoint& c) -> nb::object {
            if (c.declared() == nullptr) return nb::none();
            return to_python(c.declared()->text);
          },
          "what the configuration claims of the quantization, as it stands there; None where nothing")
      .def_prop_ro(
          "modules", [](nb::handle self) { return references(self, nb::cast<const Checkpoint&>(self).modules()); },
          "sorted by name")
      .def_prop_ro("tensors", &tensors_of, "sorted by name")
      .def_prop_ro("problems",
                   [](nb::handle self) { return references(self, nb::cast<const Checkpoint&>(self).problems()); })
      .def_prop_ro("warnings",
                   [](nb::handle self) { return references(self, nb::cast<const Checkpoint&>(self).warnings()); })
      .def("module", &module_of, "name"_a, nb::rv_policy::reference_internal, "NotFoundError where it is absent.")
      .def("require_usable", &Checkpoint::require_usable, "Raises the first problem that is not harmless.")
      .def("load", &load, "name"_a, nb::kw_only(), "rows"_a = nb::none(),
           "A quantized module's matrix, its scales checked. rows=(begin, end): a part that ends on blocks.")
      .def("dequantize", &dequantize_module, "name"_a, "dtype"_a = "f32", nb::kw_only(), "threads"_a = 0,
           "A module's values, quantized or dense, rounded once to 'f32', 'bf16' or 'f16'.")
      .def("tensor", &load_tensor, "name"_a, "A stored tensor as it is.")
      .def("__repr__", [](const Checkpoint& c) {
        return fmt::format("tessera.Checkpoint('{}', {} modules)", c.container().path(), c.modules().size());
      });
  m.def("open", &open_checkpoint, "path"_a, nb::kw_only(), "strict"_a = false,
        "Opens a model: a folder, a .safetensors or .gguf file, or an index file. Reads headers only.\n"
        "strict: a configuration that contradicts the tensors raises an error.");
}

}  // namespace tessera::python
