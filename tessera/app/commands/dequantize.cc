#include "tessera/app/commands/dequantize.h"

#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/weights/report.h"

namespace tessera::commands {
namespace {

DType parse_dtype(const std::string& name) {
  if (name == "bf16") return DType::kBf16;
  if (name == "f32") return DType::kF32;
  fail(Errc::kInvalid, "dequantize: --dtype is '{}'; f32 and bf16 can be written", name);
}

class Dequantize final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("IN", in_, "a quantized model, or a GGUF file");
    v.positional("OUT", out_, "the folder to make; it must not exist");
    v.option("--dtype", dtype_, "f32|bf16", "of the weights; default bf16, rounded once");
  }

  app::Answer run(app::Session& session) override {
    const DType dtype = parse_dtype(dtype_);
    Stream stream = session.open_stream();
    const Checkpoint in = Checkpoint::open(in_, {.strict = session.strict});
    for (const ContainerWarning& w : in.warnings()) session.warn(w);
    if (in.container().kind() == Container::Kind::kGguf) return import(session, stream, in.container(), dtype);
    const DequantizeReport report =
        dequantize_checkpoint(stream, in, out_, {.dtype = dtype, .show_progress = !session.quiet});
    for (const ContainerWarning& w : report.warnings) session.warn(w);
    app::Answer answer;
    answer.json = json_of(report);
    answer.json.set("out", out_);
    answer.json.set("dtype", dtype_);
    answer.text = fmt::format("{} weights to {}, {} -> {}, in {}\n", report.dequantized, dtype_,
                              format_bytes(static_cast<double>(report.bytes_before)),
                              format_bytes(static_cast<double>(report.bytes_after)), out_);
    return answer;
  }

 private:
  app::Answer import(app::Session& session, Stream& stream, const Container& container, DType dtype) {
    std::optional<Progress> progress;
    std::uint64_t shown = 0;
    const GgufImportOptions options{.dtype = dtype, .on_progress = [&](std::uint64_t written, std::uint64_t total) {
                                      if (session.quiet) return;
                                      if (!progress) progress.emplace("importing", total);
                                      progress->add(written - shown);
                                      shown = written;
                                    }};
    const GgufImportReport report = import_gguf(stream, container, out_, options);
    for (const ContainerWarning& w : warnings_of(report)) session.warn(w);
    app::Answer answer;
    answer.json = json_of(report);
    answer.json.set("out", out_);
    answer.json.set("dtype", dtype_);
    answer.text = fmt::format("{} tensors to {}, {}, in {}\n{}\n", report.tensors, dtype_,
                              format_bytes(static_cast<double>(report.bytes)), out_, report.statement);
    return answer;
  }

  std::string in_, out_, dtype_ = "bf16";
};

}  // namespace

std::unique_ptr<app::Command> make_dequantize() { return std::make_unique<Dequantize>(); }

}  // namespace tessera::commands
