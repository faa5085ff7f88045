// Formats, writers and dialects: what there is, and its facts.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "tessera/base/error.h"
#include "tessera/base/threads.h"
#include "tessera/io/dialect.h"
#include "tessera/numeric/describe.h"
#include "tessera/python/bindings.h"

namespace tessera::python {
namespace {

template <class Entry>
nb::list names_of_writers(const Entry& supports) {
  nb::list names;
  for (const Writer* w : all_writers())
    if (supports(*w)) names.append(w->name);
  return names;
}

template <class Entry>
nb::list references(std::span<const Entry* const> entries) {
  nb::list list;
  for (const Entry* e : entries) list.append(nb::cast(e, nb::rv_policy::reference));
  return list;
}

nb::object block_of(const Format& f) {
  if (f.is_dense()) return nb::none();
  return nb::make_tuple(f.block.rows, f.block.cols);
}

nb::object scale_of(const Format& f) {
  if (f.is_dense()) return nb::none();
  return nb::cast(element_name(f.scale));
}

void bind_format(nb::module_& m) {
  nb::class_<Format>(m, "Format", "How stored bits become numbers. Equal formats are equal values.")
      .def_prop_ro("name", &format_label, "'nvfp4'; 'fp8_block[32x32]' of a block that has no name of its own")
      .def_prop_ro(
          "element", [](const Format& f) { return element_name(f.element); }, "'E2M1', 'E4M3', ...")
      .def_prop_ro("block", &block_of,
                   "(rows, cols) that share a scale, 0: all of them; None where there are no scales")
      .def_prop_ro("scale", &scale_of, "'E4M3', 'E8M0', 'f32'; None where there are no scales")
      .def_ro("has_global", &Format::has_global, "whether an f32 stands over the block scales")
      .def_prop_ro("is_scaled", &Format::is_scaled)
      .def_prop_ro("bits_per_element", &bits_per_element, "codes and block scales of a large matrix")
      .def_prop_ro(
          "writers", [](const Format& f) { return names_of_writers([&](const Writer& w) { return w.supports(f); }); },
          "names of the writers that know it")
      .def("__eq__",
           [](const Format& f, nb::handle other) {
             return nb::isinstance<Format>(other) && nb::cast<const Format&>(other) == f;
           })
      .def("__hash__", [](const Format& f) { return nb::hash(nb::cast(format_label(f))); })
      .def("__str__", &format_label)
      .def("__repr__", [](const Format& f) { return fmt::format("tessera.Format('{}')", format_label(f)); });
}

void bind_writer(nb::module_& m) {
  nb::class_<Writer>(m, "Writer", "How somebody chooses the bits of a quantized tensor.")
      .def_ro("name", &Writer::name)
      .def_ro("description", &Writer::description)
      .def_prop_ro(
          "sense", [](const Writer& w) { return sense_name(w.sense); }, "what its globals do to block scales")
      .def(
          "supports", [](const Writer& w, nb::handle format) { return w.supports(format_of(format)); },
          nb::arg("format"))
      .def("__repr__", [](const Writer& w) { return fmt::format("tessera.Writer('{}')", w.name); });
}

void bind_dialect(nb::module_& m) {
  nb::class_<Dialect>(m, "Dialect", "How one exporter spells quantized weights in a checkpoint.")
      .def_ro("name", &Dialect::name)
      .def_ro("description", &Dialect::description)
      .def_prop_ro(
          "writer",
          [](const Dialect& d) -> nb::object {
            if (d.writer.empty()) return nb::none();
            return nb::cast(d.writer);
          },
          "whose rule is used when quantizing into it, unless told otherwise")
      .def_prop_ro(
          "formats",
          [](const Dialect& d) {
            nb::list names;
            for (const Spelling& s : d.spellings)
              if (const nb::object name = nb::cast(s.format); !nb::cast<bool>(names.attr("__contains__")(name)))
                names.append(name);
            return names;
          },
          "names of the formats that it can say; 'fp8_block*': of any block")
      .def("__repr__", [](const Dialect& d) { return fmt::format("tessera.Dialect('{}')", d.name); });
}

}  // namespace

Format format_of(nb::handle name_or_format) {
  if (nb::isinstance<Format>(name_or_format)) return nb::cast<const Format&>(name_or_format);
  require(nb::isinstance<nb::str>(name_or_format), Errc::kInvalid, "a format is a name or a tessera.Format, not {}",
          nb::str(name_or_format.type().attr("__name__")).c_str());
  return find_format(nb::cast<std::string>(name_or_format));
}

Sense parse_sense(const std::string& word) {
  for (const Sense sense : {Sense::kMultiply, Sense::kDivide, Sense::kReciprocalFirst, Sense::kMaximum})
    if (sense_name(sense) == word) return sense;
  fail(Errc::kInvalid, "sense '{}'; it is multiply, divide, reciprocal_first or maximum", word);
}

int threads_for(std::size_t bytes, int wanted) {
  constexpr std::size_t kWorthAThread = 1u << 20;  // bytes: a fraction of a millisecond's work
  require(wanted >= 0 && wanted <= 1024, Errc::kInvalid, "threads={}; 0 to 1024 are possible", wanted);
  if (wanted > 0) return wanted;
  const std::size_t useful = 1 + bytes / kWorthAThread;
  return static_cast<int>(std::min(useful, static_cast<std::size_t>(available_processors())));
}

void bind_numeric(nb::module_& m) {
  bind_format(m);
  bind_writer(m);
  bind_dialect(m);
  m.def("formats", [] { return references(all_formats()); }, "All named formats.");
  m.def(
      "format", [](const std::string& name) { return find_format(name); }, nb::arg("name"),
      "The format of this name. NotFoundError lists the names.");
  m.def("writers", [] { return references(all_writers()); }, "All writers.");
  m.def("dialects", [] { return references(all_dialects()); }, "All dialects.");
}

}  // namespace tessera::python
