#include "tessera/app/commands/convert.h"

#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/weights/fix.h"
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
    std::string fixes =
        "undo a fault of the file first; refused where the bytes do not say for certain what was meant:";
    for (const Fix* fix : all_fixes()) fixes += fmt::format("\n{}: {}", fix->name, fix->description);
    v.list("--fix", fixes_, "FAULT", fixes);
  }

  app::Answer run(app::Session& session) override {
    const ConvertOptions options{
        .dialect = &find_dialect(dialect_), .requantize = requantize_, .show_progress = !session.quiet};
    Stream stream = session.open_stream();
    std::vector<const Fix*> fixes;
    for (const std::string& name : fixes_) fixes.push_back(&find_fix(name));
    const FixedCheckpoint fixed = apply_fixes(Checkpoint::open(in_, {.strict = session.strict}), fixes);
    const Checkpoint& in = fixed.model;
    for (const ContainerWarning& w : in.warnings()) session.warn(w);
    if (!fixes.empty() && !fixed.changed()) return nothing_to_fix(fixed);
    const ConvertReport report = convert_checkpoint(stream, in, out_, options);
    for (const ContainerWarning& w : report.warnings) session.warn(w);
    app::Answer answer;
    answer.json = json_of(report);
    answer.json.set("out", out_);
    answer.json.set("dialect", dialect_);
    if (!fixes.empty()) answer.json.set("fixes", json_of(std::span<const AppliedFix>(fixed.applied)));
    answer.text = text_of(fixed);
    answer.text +=
        fmt::format("{} quantized weights, {}, written as {} to {}\n", report.converted,
                    report.requantized.empty() ? "codes and block scales byte for byte"
                                               : fmt::format("{} of them requantized", report.requantized.size()),
                    dialect_, out_);
    return answer;
  }

 private:
  static std::string text_of(const FixedCheckpoint& fixed) {
    std::string text;
    for (const AppliedFix& a : fixed.applied)
      text +=
          a.findings.empty()
              ? fmt::format("{}: nothing to fix\n", a.fix->name)
              : fmt::format("{}: {}{}\n", a.fix->name, a.findings[0].message,
                            a.findings.size() == 1 ? "" : fmt::format(", and {} more like it", a.findings.size() - 1));
    return text;
  }

  // The answer is no: OUT is not made.
  static app::Answer nothing_to_fix(const FixedCheckpoint& fixed) {
    app::Answer answer{.text = text_of(fixed), .status = 1};
    answer.json.set("out", nullptr);
    answer.json.set("fixes", json_of(std::span<const AppliedFix>(fixed.applied)));
    return answer;
  }

  std::string in_, out_, dialect_;
  std::vector<std::string> fixes_;
  bool requantize_ = false;
};

}  // namespace

std::unique_ptr<app::Command> make_convert() { return std::make_unique<Convert>(); }

}  // namespace tessera::commands
