#include "tessera/app/commands/quantize.h"

#include <map>

#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/weights/report.h"

namespace tessera::commands {
namespace {

class Quantize final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("IN", in_, "a model with dense weights");
    v.positional("OUT", out_, "the folder to make; it must not exist");
    v.required("--recipe", recipe_, "NAME|FILE", "a format's name, or a YAML file of rules (docs/guide/recipes.md)");
    v.option("--as", dialect_, "DIALECT", "the dialect to write; default compressed-tensors");
    v.option("--policy", writer_, "WRITER", "how scales and codes are chosen; default the dialect's own writer");
    v.list("--set", settings_, "KEY=VALUE", "changes the recipe of a file: rules.0.weight=mxfp8");
  }

  app::Answer run(app::Session& session) override {
    const QuantizeOptions options{.recipe = Recipe::read(recipe_, settings_),
                                  .dialect = &find_dialect(dialect_),
                                  .writer = writer_.empty() ? nullptr : &find_writer(writer_),
                                  .key = {.seed = session.seed},
                                  .show_progress = !session.quiet};
    Stream stream = session.open_stream();
    const Checkpoint in = Checkpoint::open(in_, {.strict = session.strict});
    for (const ContainerWarning& w : in.warnings()) session.warn(w);
    const QuantizeReport report = quantize_checkpoint(stream, in, out_, options);
    for (const ContainerWarning& w : report.warnings) session.warn(w);
    return answer_of(report);
  }

 private:
  app::Answer answer_of(const QuantizeReport& report) const {
    app::Answer answer;
    answer.json = json_of(report);
    answer.json.set("out", out_);
    answer.json.set("dialect", dialect_);
    std::map<std::pair<std::string, std::string>, std::size_t> counts;
    for (const QuantizedSummary& q : report.quantized) ++counts[{q.format, q.writer}];
    for (const auto& [kind, count] : counts)
      answer.text += fmt::format("{} weights to {} by {}\n", count, kind.first, kind.second);
    answer.text += fmt::format(
        "{} -> {} ({:.1f} %), written as {} to {}\n", format_bytes(static_cast<double>(report.bytes_before)),
        format_bytes(static_cast<double>(report.bytes_after)),
        100.0 * static_cast<double>(report.bytes_after) / static_cast<double>(report.bytes_before), dialect_, out_);
    return answer;
  }

  std::string in_, out_, recipe_, writer_, dialect_ = "compressed-tensors";
  std::vector<std::string> settings_;
};

}  // namespace

std::unique_ptr<app::Command> make_quantize() { return std::make_unique<Quantize>(); }

}  // namespace tessera::commands
