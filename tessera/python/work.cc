// Operations on whole checkpoints. Each answers with the dictionary that the command of its name prints with --json.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tessera/base/error.h"
#include "tessera/python/array.h"
#include "tessera/python/bindings.h"
#include "tessera/python/interrupt.h"
#include "tessera/weights/report.h"

namespace tessera::python {
namespace {

using namespace nb::literals;
using Path = std::filesystem::path;

Stream open_stream(int threads) { return Stream(kCpu, threads_for(SIZE_MAX / 2, threads)); }

void append(std::vector<ContainerWarning>& all, std::span<const ContainerWarning> more) {
  all.insert(all.end(), more.begin(), more.end());
}

nb::object answer(Json json, std::span<const ContainerWarning> warnings) {
  json.set("warnings", json_of(warnings));
  return to_python(json);
}

const Writer* writer_or_null(const std::optional<std::string>& name) { return name ? &find_writer(*name) : nullptr; }

Recipe recipe_of(nb::handle recipe, const std::vector<std::string>& settings) {
  if (nb::isinstance<nb::str>(recipe) || nb::hasattr(recipe, "__fspath__"))
    return Recipe::read(nb::cast<std::string>(nb::str(recipe)), settings);
  if (nb::isinstance<nb::dict>(recipe)) {
    const nb::object text = nb::module_::import_("json").attr("dumps")(recipe);
    return Recipe::parse(parse_json(nb::cast<std::string>(text)), "the recipe");
  }
  return Recipe::plain(format_of(recipe));
}

nb::object verify(const Path& path, const std::optional<Path>& against, const std::optional<std::string>& policy,
                  bool strict, int threads, bool progress) {
  require(!policy || against, Errc::kInvalid,
          "verify: policy says how the original was quantized; against= names the original");
  const Writer* writer = writer_or_null(policy);
  std::vector<ContainerWarning> warnings;
  const VerifyReport report = interruptible([&](const std::function<void()>& check) {
    Stream stream = open_stream(threads);
    const Checkpoint model = Checkpoint::open(path.string(), {.strict = strict});
    append(warnings, model.warnings());
    if (strict) model.require_usable();
    std::optional<Checkpoint> original;
    if (against) {
      original = Checkpoint::open(against->string());
      original->require_usable();
    }
    return verify_checkpoint(stream, model, original ? &*original : nullptr,
                             {.writer = writer, .show_progress = progress, .check = check});
  });
  return answer(json_of(report), warnings);
}

nb::object quantize(const Path& source, const Path& out, nb::handle recipe, const std::string& dialect,
                    const std::optional<std::string>& policy, const std::vector<std::string>& settings,
                    std::uint64_t seed, bool strict, int threads, bool progress) {
  QuantizeOptions options{.recipe = recipe_of(recipe, settings),
                          .dialect = &find_dialect(dialect),
                          .writer = writer_or_null(policy),
                          .key = {.seed = seed},
                          .show_progress = progress};
  std::vector<ContainerWarning> warnings;
  const QuantizeReport report = interruptible([&](const std::function<void()>& check) {
    options.check = check;
    Stream stream = open_stream(threads);
    const Checkpoint in = Checkpoint::open(source.string(), {.strict = strict});
    append(warnings, in.warnings());
    return quantize_checkpoint(stream, in, out.string(), options);
  });
  append(warnings, report.warnings);
  return answer(json_of(report), warnings);
}

nb::object convert(const Path& source, const Path& out, const std::string& dialect, bool requantize, bool strict,
                   int threads, bool progress) {
  ConvertOptions options{.dialect = &find_dialect(dialect), .requantize = requantize, .show_progress = progress};
  std::vector<ContainerWarning> warnings;
  const ConvertReport report = interruptible([&](const std::function<void()>& check) {
    options.check = check;
    Stream stream = open_stream(threads);
    const Checkpoint in = Checkpoint::open(source.string(), {.strict = strict});
    append(warnings, in.warnings());
    return convert_checkpoint(stream, in, out.string(), options);
  });
  append(warnings, report.warnings);
  return answer(json_of(report), warnings);
}

nb::object dequantize(const Path& source, const Path& out, const std::string& dtype, bool strict, int threads,
                      bool progress) {
  const DType to = parse_dtype(dtype);
  std::vector<ContainerWarning> warnings;
  const Json json = interruptible([&](const std::function<void()>& check) {
    Stream stream = open_stream(threads);
    const Checkpoint in = Checkpoint::open(source.string(), {.strict = strict});
    append(warnings, in.warnings());
    if (in.container().kind() == Container::Kind::kGguf) {
      const GgufImportReport report =
          import_gguf(stream, in.container(), out.string(),
                      {.dtype = to, .on_progress = [&](std::uint64_t, std::uint64_t) { check(); }});
      append(warnings, warnings_of(report));
      return json_of(report);
    }
    const DequantizeReport report =
        dequantize_checkpoint(stream, in, out.string(), {.dtype = to, .show_progress = progress, .check = check});
    append(warnings, report.warnings);
    return json_of(report);
  });
  return answer(json, warnings);
}

}  // namespace

void bind_work(nb::module_& m) {
  m.def("verify", &verify, "path"_a, "against"_a = nb::none(), "policy"_a = nb::none(), nb::kw_only(),
        "strict"_a = false, "threads"_a = 0, "progress"_a = false,
        "Checks a quantized checkpoint: alone, or against the dense one that it was made from.\n\n"
        "policy: the writer that must give its bits; without it, any may.\n"
        "Returns {'holds', 'checked', 'problems', 'modules', 'warnings'}.");
  m.def("quantize_checkpoint", &quantize, "source"_a, "out"_a, "recipe"_a, nb::kw_only(),
        "dialect"_a = "compressed-tensors", "policy"_a = nb::none(), "settings"_a = std::vector<std::string>{},
        "seed"_a = 0, "strict"_a = false, "threads"_a = 0, "progress"_a = false,
        "Writes `out`, a quantized model, or leaves it absent.\n\n"
        "recipe: a format, the path of a YAML file, or the same rules as a dictionary.\n"
        "policy: the writer; without it, the dialect's own. settings: 'rules.0.weight=mxfp8', over a file's rules.\n"
        "Returns {'bytes_before', 'bytes_after', 'modules', 'warnings'}.");
  m.def("convert_checkpoint", &convert, "source"_a, "out"_a, "dialect"_a, nb::kw_only(), "requantize"_a = false,
        "strict"_a = false, "threads"_a = 0, "progress"_a = false,
        "Writes `out`, the model in another dialect: codes and block scales byte for byte.\n\n"
        "requantize: change formats that the dialect cannot say to its nearest one, instead of refusing.\n"
        "Returns {'converted', 'requantized', 'bytes_before', 'bytes_after', 'warnings'}.");
  m.def("dequantize_checkpoint", &dequantize, "source"_a, "out"_a, nb::kw_only(), "dtype"_a = "bf16",
        "strict"_a = false, "threads"_a = 0, "progress"_a = false,
        "Writes `out`, the model with dense weights of 'f32' or 'bf16'; a GGUF file becomes a whole folder.\n"
        "Returns {'dequantized', 'bytes_before', 'bytes_after', 'warnings'}; of a GGUF file, 'source' too.");
}

}  // namespace tessera::python
