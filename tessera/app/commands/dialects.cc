#include "tessera/app/commands/dialects.h"

#include "tessera/io/dialect.h"

namespace tessera::commands {
namespace {

bool is_written(const Dialect& d, const Spelling& s) {
  return d.write_declaration != nullptr && !s.only_read && !s.scales.empty();
}

class Dialects final : public app::Command {
 public:
  void visit(app::OptionVisitor&) override {}

  app::Answer run(app::Session&) override {
    app::Answer answer;
    Json& list = answer.json.set("dialects", JsonArray{});
    app::TextTable table({"dialect", "format", "codes", "block scales", "global", "activation scale", ""});
    for (const Dialect* d : all_dialects()) {
      Json j;
      j.set("name", d->name);
      j.set("description", d->description);
      j.set("writer", d->writer.empty() ? Json() : Json(d->writer));
      Json& spellings = j.set("spellings", JsonArray{});
      for (const Spelling& s : d->spellings) {
        const bool divides = s.sense == Sense::kDivide;
        Json row;
        row.set("format", s.format);
        row.set("codes", s.codes);
        row.set("scales", s.scales.empty() ? Json() : Json(s.scales));
        row.set("global", s.global.empty() ? Json() : Json(s.global));
        row.set("sense", s.global.empty() ? Json() : Json(divides ? "divide" : "multiply"));
        row.set("activation", s.activation.empty() ? Json() : Json(s.activation));
        row.set("bank", s.glued || s.blocks_axis);  // all experts in one tensor
        row.set("written", is_written(*d, s));
        spellings.push(std::move(row));
        table.add({std::string(d->name), std::string(s.format),
                   std::string(s.codes) + " " + std::string(s.codes_dtypes),
                   s.scales.empty() ? "" : std::string(s.scales) + " " + std::string(s.scales_dtypes),
                   s.global.empty() ? "" : std::string(s.global) + (divides ? ", divides" : ", multiplies"),
                   std::string(s.activation), is_written(*d, s) || s.scales.empty() ? "" : "read only"});
      }
      list.push(std::move(j));
    }
    answer.text = table.text();
    return answer;
  }
};

}  // namespace

std::unique_ptr<app::Command> make_dialects() { return std::make_unique<Dialects>(); }

}  // namespace tessera::commands
