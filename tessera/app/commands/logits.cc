#include "tessera/app/commands/logits.h"

#include <cstring>

#include "tessera/app/language_run.h"
#include "tessera/base/error.h"
#include "tessera/base/output.h"
#include "tessera/io/safetensors_writer.h"

namespace tessera::commands {
namespace {

class Logits final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("MODEL", model_, "a model's folder");
    v.required("--ids", ids_, "1,2,3", "token ids of the text");
    v.required("--out", out_, "FILE", "safetensors file to write: logits [tokens, vocabulary], f32");
    v.flag("--hidden-states", hidden_, "and hidden.I [tokens, width]: the embedding, then what each layer gives");
    options_.visit(v);
  }

  app::Answer run(app::Session& session) override {
    const std::vector<std::int32_t> ids = app::parse_ids("--ids", ids_);
    require(!ids.empty(), Errc::kInvalid, "--ids has no tokens");
    const auto tokens = static_cast<std::int64_t>(ids.size());
    const auto wanted = hidden_ ? models::HiddenStates::kAll : models::HiddenStates::kLast;
    app::LanguageRun run = app::open_language(model_, options_, session, {.hidden = wanted, .cache_tokens = tokens});
    const models::LanguageShape& shape = run.engine->shape();
    std::vector<PlannedTensor> planned{{"logits", DType::kF32, {tokens, shape.vocabulary}, ""}};
    for (std::int64_t i = 0; hidden_ && i <= shape.layers; ++i)
      planned.push_back({fmt::format("hidden.{}", i), DType::kF32, {tokens, shape.width}, ""});
    OutputFile file(out_);
    SafetensorsWriter writer(file.path(), planned);
    Sequence sequence = run.engine->start();
    const auto step_size = static_cast<std::size_t>(run.engine->options().batch_rows);
    for (std::size_t begin = 0; begin < ids.size(); begin += step_size) {
      const auto part = std::span(ids).subspan(begin, std::min(step_size, ids.size() - begin));
      run.engine->read(sequence, part, Wanted::kAll, [&](std::int64_t token, std::span<const float> row) {
        writer.write("logits", (begin + static_cast<std::size_t>(token)) * row.size_bytes(), std::as_bytes(row));
      });
      for (std::int64_t i = 0; hidden_ && i <= shape.layers; ++i) write_hidden(*run.engine, i, begin, writer);
    }
    writer.finish();
    file.commit();
    app::Answer answer;
    answer.json.set("out", out_);
    answer.json.set("tokens", tokens);
    answer.json.set("vocabulary", shape.vocabulary);
    answer.text = fmt::format("{}: logits of {} tokens over {} ids\n", out_, tokens, shape.vocabulary);
    return answer;
  }

 private:
  static void write_hidden(const LanguageEngine& engine, std::int64_t index, std::size_t begin,
                           SafetensorsWriter& writer) {
    const Tensor rows = engine.hidden(index);
    std::vector<float> wide(static_cast<std::size_t>(rows.count()));
    read_floats(rows, 0, wide);
    const auto width = static_cast<std::size_t>(rows.extent().cols);
    writer.write(fmt::format("hidden.{}", index), begin * width * sizeof(float), std::as_bytes(std::span(wide)));
  }

  std::string model_, ids_, out_;
  bool hidden_ = false;
  app::LanguageOptions options_;
};

}  // namespace

std::unique_ptr<app::Command> make_logits() { return std::make_unique<Logits>(); }

}  // namespace tessera::commands
