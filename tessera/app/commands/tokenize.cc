#include "tessera/app/commands/tokenize.h"

#include "tessera/app/language_files.h"
#include "tessera/app/language_run.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/utf8.h"
#include "tessera/text/tokenizer.h"

namespace tessera::commands {
namespace {

class Tokenize final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("MODEL", model_, "a model's folder, a tokenizer.json or a .gguf file");
    v.list("--text", texts_, "TEXT", "to encode");
    v.option("--file", file_, "FILE", "whose text to encode");
    v.flag("--decode", decode_, "the other way round: --ids to text");
    v.option("--ids", ids_, "1,2,3", "to decode");
    v.flag("--no-special", no_special_,
           "without the tokens that stand around a text; decoding leaves special tokens out");
  }

  app::Answer run(app::Session& session) override {
    require(!decode_ || (texts_.empty() && file_.empty()), Errc::kInvalid,
            "tokenize: --decode takes --ids, and neither --text nor --file");
    require(decode_ || ids_.empty(), Errc::kInvalid, "tokenize: --ids are decoded; say --decode");
    require(decode_ || texts_.size() + (file_.empty() ? 0 : 1) == 1, Errc::kInvalid,
            "tokenize: one --text, or one --file, or --decode with --ids");
    const Tokenizer tokenizer = app::open_tokenizer(model_, session);
    return decode_ ? decode(tokenizer) : encode(tokenizer);
  }

 private:
  SpecialTokens special() const { return no_special_ ? SpecialTokens::kWithout : SpecialTokens::kWith; }

  app::Answer decode(const Tokenizer& tokenizer) const {
    const std::vector<std::int32_t> ids = app::parse_ids("tokenize: --ids", ids_);
    for (const std::int32_t id : ids)
      require(tokenizer.token(id) != nullptr, Errc::kInvalid, "tokenize: there is no token {}; {} tokens have ids", id,
              tokenizer.size());
    app::Answer answer;
    const std::string text = tokenizer.decode(ids, special());
    answer.json.set("text", text);
    answer.text = text + "\n";
    return answer;
  }

  app::Answer encode(const Tokenizer& tokenizer) const {
    const std::string text = file_.empty() ? texts_[0] : read_file(file_);
    const Encoding encoding = file_.empty() ? tokenizer.encode(text, special())
                                            : naming_file(file_, [&] { return tokenizer.encode(text, special()); });
    app::Answer answer;
    Json ids = JsonArray{}, pieces = JsonArray{}, offsets = JsonArray{};
    app::TextTable table({"id", "token", "bytes", "text"});
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
      const std::string& token = *tokenizer.token(encoding.ids[i]);
      const ByteRange range = encoding.offsets[i];
      ids.push(std::int64_t{encoding.ids[i]});
      pieces.push(token);
      offsets.push(JsonArray{std::int64_t{range.begin}, std::int64_t{range.end}});
      table.add({std::to_string(encoding.ids[i]), printable(token), fmt::format("{}..{}", range.begin, range.end),
                 "'" + printable(std::string_view(text).substr(range.begin, range.end - range.begin)) + "'"});
    }
    answer.json.set("ids", std::move(ids));
    answer.json.set("pieces", std::move(pieces));
    answer.json.set("offsets", std::move(offsets));
    answer.text = table.text("r") + fmt::format("{} tokens, {} bytes\n", encoding.ids.size(), text.size());
    return answer;
  }

  std::string model_, file_, ids_;
  std::vector<std::string> texts_;  // one at most
  bool decode_ = false, no_special_ = false;
};

}  // namespace

std::unique_ptr<app::Command> make_tokenize() { return std::make_unique<Tokenize>(); }

}  // namespace tessera::commands
