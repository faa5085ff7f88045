#include "tessera/app/commands/convert.h"

#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/weights/report.h"

namespace tessera::commands {
namespace {

class Convert final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("IN", in_, "a quantized model, of any dialect that is read");
    v.positional("OUT", out_, "the folder to make; it must not exist");
    v.required("--as", dialect_, "DIALECT", "the dialect to write (`tessera dialects` lists them)");
    v.flag("--requantize", requantize_,
           "change formats that the dialect cannot say to its nearest one, instead of refusing");
  }

  app::Answer run(app::Session& session) override {
    const ConvertOptions options{
        .dialect = &find_dialect(dialect_), .requantize = requantize_, .show_progress = !session.quiet};
    Stream stream = session.open_stream();
    const Checkpoint in = Checkpoint::open(in_, {.strict = session.strict});
    for (const ContainerWarning& w : in.warnings()) session.warn(w);
    const ConvertReport report = convert_checkpoint(stream, in, out_, options);
    for (const ContainerWarning& w : report.warnings) session.warn(w);
    app::Answer answer;
    answer.json = json_of(report);
    answer.json.set("out", out_);
    answer.json.set("dialect", dialect_);
    answer.text =
        fmt::format("{} quantized weights, {}, written as {} to {}\n", report.converted,
                    report.requantized.empty() ? "codes and block scales byte for byte"
                                               : fmt::format("{} of them requantized", report.requantized.size()),
                    dialect_, out_);
    return answer;
  }

 private:
  std::string in_, out_, dialect_;
  bool requantize_ = false;
};

}  // namespace

std::unique_ptr<app::Command> make_convert() { return std::make_unique<Convert>(); }

}  // namespace tessera::commands
