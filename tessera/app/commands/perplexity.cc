#include "tessera/app/commands/perplexity.h"

#include <cmath>

#include "tessera/app/language_files.h"
#include "tessera/app/language_run.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/progress.h"
#include "tessera/infer/perplexity.h"

namespace tessera::commands {
namespace {

constexpr std::int64_t kDefaultWindow = 2048;

std::vector<std::int32_t> ids_of_json(const Json& json) {
  std::vector<std::int32_t> ids;
  for (const Json& id : json.as_array()) {
    const std::int64_t value = id.as_int64();
    require(value >= 0 && value < std::int64_t{1} << 31, Errc::kInvalid, "{} is no token id", value);
    ids.push_back(static_cast<std::int32_t>(value));
  }
  return ids;
}

std::int64_t whole_at(const Tensor& t, std::int64_t i) {
  if (t.dtype() == DType::kI64) return t.as<std::int64_t>()[i];
  if (t.dtype() == DType::kI32) return t.as<std::int32_t>()[i];
  if (t.dtype() == DType::kU16) return t.as<std::uint16_t>()[i];
  fail(Errc::kInvalid, "ids are {}; I64, I32 and U16 are read", dtype_name(t.dtype()));
}

// An integer tensor of a safetensors file: the one named, or the only one.
std::vector<std::int32_t> ids_of_tensor(const std::string& file, const std::string& name) {
  const Container container = Container::open(file);
  require(!name.empty() || container.tensors().size() == 1, Errc::kInvalid, "{} has {} tensors; say FILE:TENSOR", file,
          container.tensors().size());
  const StoredTensor* stored = name.empty() ? &container.tensors()[0] : container.find(name);
  require(stored != nullptr, Errc::kNotFound, "{} has no tensor '{}'", file, name);
  Tensor t(stored->dtype, stored->shape);
  container.read(*stored, 0, t.span());
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < t.count(); ++i) {
    const std::int64_t value = whole_at(t, i);
    require(value >= 0 && value < std::int64_t{1} << 31, Errc::kInvalid, "{}[{}] is {}, no token id", stored->name, i,
            value);
    ids.push_back(static_cast<std::int32_t>(value));
  }
  return ids;
}

Json interval(const Estimate& e, double (*map)(double)) { return JsonArray{map(e.low), map(e.high)}; }
double same(double x) { return x; }

class Perplexity final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("MODEL", model_, "a model's folder");
    v.option("--text", text_, "FILE", "whose text to predict");
    v.option("--ids-file", ids_file_, "FILE[:TENSOR]", "token ids: a JSON list, or an integer tensor");
    v.option("--window", window_, "N", "tokens that are read together; default: what the model reads, at most 2048");
    v.option("--stride", stride_, "N", "from one window's start to the next; default: the window");
    v.option("--against", against_, "MODEL2", "compare token by token with another model of the same tokenizer");
    options_.visit(v);
  }

  app::Answer run(app::Session& session) override {
    require(text_.empty() != ids_file_.empty(), Errc::kInvalid, "perplexity: one of --text and --ids-file");
    const std::vector<std::int32_t> ids = read_ids(session);
    const std::vector<double> nll = score(model_, ids, session);
    app::Answer answer;
    const Estimate mean = estimate_mean(nll);
    report(answer, model_, nll.size(), mean);
    if (!against_.empty()) compare(answer, nll, ids, session);
    return answer;
  }

 private:
  std::vector<std::int32_t> read_ids(app::Session& session) const {
    if (!text_.empty()) {
      const Tokenizer tokenizer = app::open_tokenizer(model_, session);
      return naming_file(text_, [&] { return tokenizer.encode(read_file(text_), SpecialTokens::kWithout).ids; });
    }
    const std::size_t colon = ids_file_.rfind(':');
    const std::string file = ids_file_.substr(0, colon);
    const std::string name = colon == std::string::npos ? "" : ids_file_.substr(colon + 1);
    if (file.ends_with(".safetensors")) return naming_file(file, [&] { return ids_of_tensor(file, name); });
    return naming_file(ids_file_, [&] { return ids_of_json(parse_json(read_file(ids_file_))); });
  }

  std::vector<double> score(const std::string& model, std::span<const std::int32_t> ids, app::Session& session) const {
    app::LanguageRun run = app::open_language(model, options_, session, {});
    PerplexityOptions options{.window = std::min(run.engine->shape().longest, kDefaultWindow)};
    if (!window_.empty()) options.window = app::parse_whole("--window", window_, 2);
    options.stride = stride_.empty() ? options.window : app::parse_whole("--stride", stride_, 1);
    std::vector<double> nll;
    for (const ScoredToken& token : score_text(*run.engine, ids, options)) nll.push_back(token.nll);
    return nll;
  }

  static void report(app::Answer& answer, const std::string& model, std::size_t tokens, const Estimate& mean) {
    answer.json.set("tokens", static_cast<std::int64_t>(tokens));
    answer.json.set("mean_nll", mean.mean);
    answer.json.set("perplexity", std::exp(mean.mean));
    answer.json.set("confidence95", interval(mean, &std::exp));
    answer.text += fmt::format("{}: perplexity {:.4f} (95 %: {:.4f} to {:.4f}), {:.5f} nats a token over {} tokens\n",
                               model, std::exp(mean.mean), std::exp(mean.low), std::exp(mean.high), mean.mean, tokens);
  }

  void compare(app::Answer& answer, const std::vector<double>& nll, std::span<const std::int32_t> ids,
               app::Session& session) const {
    const std::vector<double> other = score(against_, ids, session);
    require(other.size() == nll.size(), Errc::kInvalid, "{} scored {} tokens, {} scored {}: say --window", model_,
            nll.size(), against_, other.size());
    std::vector<double> differences;
    for (std::size_t i = 0; i < nll.size(); ++i) differences.push_back(nll[i] - other[i]);
    const Estimate theirs = estimate_mean(other), difference = estimate_mean(differences);
    Json against = JsonObject{};
    against.set("model", against_);
    against.set("mean_nll", theirs.mean);
    against.set("perplexity", std::exp(theirs.mean));
    against.set("difference_nll", difference.mean);
    against.set("difference95", interval(difference, &same));
    answer.json.set("against", std::move(against));
    app::Answer text;
    report(text, against_, other.size(), theirs);
    const bool is_clear = difference.low > 0 || difference.high < 0;
    answer.text +=
        text.text + fmt::format("difference: {:+.5f} nats a token (95 %: {:+.5f} to {:+.5f}){}\n", difference.mean,
                                difference.low, difference.high, is_clear ? "" : ", which may be chance");
  }

  std::string model_, text_, ids_file_, window_, stride_, against_;
  app::LanguageOptions options_;
};

}  // namespace

std::unique_ptr<app::Command> make_perplexity() { return std::make_unique<Perplexity>(); }

}  // namespace tessera::commands
