#include "tessera/app/commands/verify.h"

#include <array>

#include "tessera/app/report.h"
#include "tessera/base/error.h"
#include "tessera/weights/report.h"

namespace tessera::commands {
namespace {

class Verify final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("PATH", path_, "a quantized model");
    v.option("--against", original_, "ORIGINAL", "the dense model that it was made from");
    v.option("--policy", writer_, "WRITER", "the writer that must give its bits; without it, any may");
  }

  app::Answer run(app::Session& session) override {
    require(writer_.empty() || !original_.empty(), Errc::kInvalid,
            "verify: --policy says how the original was quantized; --against names the original");
    const VerifyOptions options{.writer = writer_.empty() ? nullptr : &find_writer(writer_),
                                .show_progress = !session.quiet};
    Stream stream = session.open_stream();
    const Checkpoint model = Checkpoint::open(path_, {.strict = session.strict});
    for (const ContainerWarning& w : model.warnings()) session.warn(w);
    if (session.strict) model.require_usable();
    std::optional<Checkpoint> original;
    if (!original_.empty()) {
      original = Checkpoint::open(original_);
      original->require_usable();
    }
    const VerifyReport report = verify_checkpoint(stream, model, original ? &*original : nullptr, options);
    return {.json = json_of(report), .text = text_of(report), .status = report.holds ? 0 : 1};
  }

 private:
  static std::string text_of(const VerifyReport& report) {
    std::string text = fmt::format("{} quantized weights checked: {}\n", report.checked,
                                   report.holds ? "everything holds" : "something is wrong");
    if (!report.problems.empty()) text += fmt::format("\nproblems\n{}", app::text_of(report.problems));
    if (report.modules.empty()) return text;
    std::array<std::size_t, 4> counts{};
    double largest = 0;
    for (const ModuleVerdict& v : report.modules) {
      ++counts[static_cast<std::size_t>(v.verdict)];
      largest = std::max(largest, v.relative_error);
    }
    text += fmt::format("exact {}, scales exact {}, transformed {}, wrong {}; largest relative error {:.4f}\n",
                        counts[0], counts[1], counts[2], counts[3], largest);
    app::TextTable table({"weight", "format", "verdict", "writer", "relative error", "first difference"});
    std::size_t shown = 0;
    for (const ModuleVerdict& v : report.modules) {
      if (v.verdict == Verdict::kExact || ++shown > 20) continue;
      const std::string difference =
          v.first_difference
              ? fmt::format("{} {}: expected {}, found {}", v.first_difference->part, v.first_difference->index,
                            v.first_difference->expected, v.first_difference->found)
              : "";
      table.add({v.name, v.format, std::string(verdict_name(v.verdict)), v.writer,
                 fmt::format("{:.4f}", v.relative_error), difference});
    }
    if (shown > 0) text += "\n" + table.text("llllr");
    if (shown > 20) text += fmt::format("and {} more (--json lists all)\n", shown - 20);
    return text;
  }

  std::string path_, original_, writer_;
};

}  // namespace

std::unique_ptr<app::Command> make_verify() { return std::make_unique<Verify>(); }

}  // namespace tessera::commands
