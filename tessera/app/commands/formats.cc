#include "tessera/app/commands/formats.h"

#include "tessera/base/error.h"
#include "tessera/numeric/describe.h"

namespace tessera::commands {
namespace {

std::string block_text(const Format& f) {
  if (f.is_dense()) return "";
  const auto side = [](std::int64_t n) { return n == 0 ? std::string("all") : std::to_string(n); };
  return side(f.block.rows) + " x " + side(f.block.cols);
}

class Formats final : public app::Command {
 public:
  void visit(app::OptionVisitor&) override {}

  app::Answer run(app::Session&) override {
    app::Answer answer;
    Json& list = answer.json.set("formats", JsonArray{});
    app::TextTable table({"format", "element", "block", "scale", "global", "bits", "writers"});
    for (const Format* f : all_formats()) {
      Json j;
      j.set("name", f->name);
      j.set("element", element_name(f->element));
      j.set("block", f->is_dense() ? Json() : Json(JsonArray{f->block.rows, f->block.cols}));
      j.set("scale", f->is_dense() ? Json() : Json(element_name(f->scale)));
      j.set("global", f->has_global);
      j.set("bits_per_element", bits_per_element(*f));
      Json& writers = j.set("writers", JsonArray{});
      std::string names;
      for (const Writer* w : all_writers()) {
        if (!w->supports(*f)) continue;
        writers.push(w->name);
        names.append(names.empty() ? "" : " ").append(w->name);
      }
      list.push(std::move(j));
      table.add({std::string(f->name), element_name(f->element), block_text(*f), element_name(f->scale),
                 f->has_global ? "f32" : "", fmt::format("{:g}", bits_per_element(*f)), names});
    }
    Json& writers = answer.json.set("writers", JsonArray{});
    app::TextTable rules({"writer", "rule"});
    for (const Writer* w : all_writers()) {
      Json j;
      j.set("name", w->name);
      j.set("description", w->description);
      writers.push(std::move(j));
      rules.add({std::string(w->name), std::string(w->description)});
    }
    answer.text = table.text("lllllr") + "\n" + rules.text();
    return answer;
  }
};

}  // namespace

std::unique_ptr<app::Command> make_formats() { return std::make_unique<Formats>(); }

}  // namespace tessera::commands
