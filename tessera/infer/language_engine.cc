#include "tessera/infer/language_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/graph/ops/attention.h"
#include "tessera/weights/cache_scales.h"
#include "tessera/weights/load_params.h"

namespace tessera {
namespace {

constexpr std::int64_t kHeadRows = 32;  // logits of a large vocabulary are long rows
constexpr std::int64_t kDefaultCacheTokens = 8192;

std::int64_t wanted_rows(const LanguageEngine::Piece& piece) {
  if (piece.wanted == Wanted::kNone || piece.ids.empty()) return 0;
  return piece.wanted == Wanted::kLast ? 1 : static_cast<std::int64_t>(piece.ids.size());
}

}  // namespace

Sequence::Sequence(Sequence&& other) noexcept
    : cache_(other.cache_), pages_(std::exchange(other.pages_, {})), length_(std::exchange(other.length_, 0)) {}

Sequence& Sequence::operator=(Sequence&& other) noexcept {
  if (this == &other) return *this;
  clear();
  cache_ = other.cache_;
  pages_ = std::exchange(other.pages_, {});
  length_ = std::exchange(other.length_, 0);
  return *this;
}

Sequence::~Sequence() { clear(); }

void Sequence::clear() {
  for (const std::int32_t page : pages_) cache_->release(page);
  pages_.clear();
  length_ = 0;
}

Sequence Sequence::fork(std::int64_t length) const {
  require(length >= 0 && length <= length_ && length % KvPage::kTokens == 0, Errc::kInvalid,
          "a sequence of {} tokens cannot be shared up to token {}; multiples of {} can", length_, length,
          KvPage::kTokens);
  Sequence other(*cache_);
  for (std::int64_t i = 0; i < length / KvPage::kTokens; ++i) {
    const std::int32_t page = pages_[static_cast<std::size_t>(i)];
    cache_->hold(page);
    other.pages_.push_back(page);
  }
  other.length_ = length;
  return other;
}

std::unique_ptr<models::LanguageModel> make_language_model(const Checkpoint& checkpoint) {
  const Json& config = checkpoint.config().config;
  require(!config.is_null(), Errc::kNotFound, "{}: there is no config.json beside the weights",
          checkpoint.container().path());
  const auto has = [&](std::string_view name) { return checkpoint.container().find(name) != nullptr; };
  return models::find_family(config).make(config, has);
}

LanguageEngine::LanguageEngine(Stream& stream, const Checkpoint& checkpoint, const EngineOptions& options)
    : stream_(stream), options_(options), model_(make_language_model(checkpoint)), params_(model_->params()) {
  require(options.compute == DType::kBf16 || options.compute == DType::kF32, Errc::kInvalid,
          "activations of {}; there are BF16 and F32", dtype_name(options.compute));
  const std::int64_t tokens =
      options.cache_tokens > 0 ? options.cache_tokens : std::min(shape().longest, kDefaultCacheTokens);
  cache_ =
      std::make_unique<KvCache>(shape(), options.cache.value_or(options.compute), ceil_div(tokens, KvPage::kTokens));
  load_params(stream, checkpoint, params_,
              {.may_be_extra = [&](std::string_view name) { return model_->may_be_extra(name); },
               .show_progress = options.show_progress,
               .check = options.check});
  model_->trunk(trunk_, options.compute, options.hidden);
  model_->head(head_, options.compute);
  trunk_plan_ = std::make_unique<graph::Plan>(trunk_, options.execution);
  head_plan_ = std::make_unique<graph::Plan>(head_, options.execution);
  trunk_runner_ = std::make_unique<graph::Runner>(*trunk_plan_, options.batch_rows);
  head_runner_ = std::make_unique<graph::Runner>(*head_plan_, kHeadRows);
  for (std::int64_t i = 0; i < shape().layers; ++i) {
    if (cache_->store(i).page.type == DType::kF8E4M3) {
      const LayerCacheScales scales = read_cache_scales(checkpoint, model_->attention_name(i));
      cache_->set_scales(i, scales.key, scales.value);
    }
    auto state = std::make_unique<graph::KvState>();
    state->store = cache_->store(i);
    states_.push_back(std::move(state));
  }
}

LanguageEngine::~LanguageEngine() = default;

std::size_t LanguageEngine::weight_bytes() const {
  std::size_t total = 0;
  for (const Param* p : params_) total += p->bytes();
  return total;
}

Tensor LanguageEngine::hidden(std::int64_t index) const {
  return trunk_runner_->output(fmt::format("hidden.{}", index));
}

// Everything that can fail is asked before any sequence changes.
void LanguageEngine::reserve(std::span<const Piece> pieces) {
  std::int64_t rows = 0, pages = 0;
  for (const Piece& piece : pieces) {
    const std::int64_t end = piece.sequence->length_ + static_cast<std::int64_t>(piece.ids.size());
    rows += static_cast<std::int64_t>(piece.ids.size());
    pages += ceil_div(end, KvPage::kTokens) - static_cast<std::int64_t>(piece.sequence->pages_.size());
    require(end <= shape().longest, Errc::kInvalid, "{} tokens; the model reads at most {}", end, shape().longest);
    for (const std::int32_t id : piece.ids)
      require(id >= 0 && id < shape().vocabulary, Errc::kInvalid, "token id {} of a vocabulary of {}", id,
              shape().vocabulary);
  }
  require(rows <= options_.batch_rows, Errc::kInvalid, "{} tokens at once; there is room for {}", rows,
          options_.batch_rows);
  require(pages <= cache_->free_pages(), Errc::kResource,
          "the cache has room for {} tokens, {} of them free; {} more are wanted", cache_->capacity() * KvPage::kTokens,
          cache_->free_pages() * KvPage::kTokens, pages * KvPage::kTokens);
  for (const Piece& piece : pieces) {
    const std::int64_t end = piece.sequence->length_ + static_cast<std::int64_t>(piece.ids.size());
    while (static_cast<std::int64_t>(piece.sequence->pages_.size()) < ceil_div(end, KvPage::kTokens))
      piece.sequence->pages_.push_back(cache_->take());
  }
}

void LanguageEngine::step(std::span<const Piece> pieces, const OnLogits& on_logits) {
  reserve(pieces);
  std::vector<AttentionRow> places;
  std::vector<std::int32_t> ids, positions;
  for (const Piece& piece : pieces)
    for (std::size_t i = 0; i < piece.ids.size(); ++i) {
      const std::int64_t position = piece.sequence->length_ + static_cast<std::int64_t>(i);
      ids.push_back(piece.ids[i]);
      positions.push_back(static_cast<std::int32_t>(position));
      places.push_back({piece.sequence->pages_.data(), position});
    }
  const auto rows = static_cast<std::int64_t>(ids.size());
  const auto column = [rows](const std::vector<std::int32_t>& values) {
    Tensor t(DType::kI32, {rows, 1});
    std::memcpy(t.data(), values.data(), t.bytes());
    return t;
  };
  graph::Bindings bindings{.inputs = {{"ids", column(ids)}, {"positions", column(positions)}}, .states = {}};
  for (std::size_t i = 0; i < states_.size(); ++i) {
    static_cast<graph::KvState&>(*states_[i]).rows = places;
    bindings.states[fmt::format("cache.{}", i)] = states_[i].get();
  }
  trunk_runner_->run(stream_, rows, bindings);
  for (const Piece& piece : pieces) piece.sequence->length_ += static_cast<std::int64_t>(piece.ids.size());
  run_head(pieces, on_logits);
}

void LanguageEngine::run_head(std::span<const Piece> pieces, const OnLogits& on_logits) {
  struct Row {
    std::size_t piece;
    std::int64_t token, row;
  };
  std::vector<Row> wanted;
  std::int64_t first = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto count = static_cast<std::int64_t>(pieces[p].ids.size());
    for (std::int64_t token = count - wanted_rows(pieces[p]); token < count; ++token)
      wanted.push_back({p, token, first + token});
    first += count;
  }
  if (wanted.empty()) return;
  const Tensor hidden = trunk_runner_->output("hidden");
  const std::size_t row_bytes = hidden.bytes() / static_cast<std::size_t>(hidden.extent().rows);
  for (std::size_t begin = 0; begin < wanted.size(); begin += kHeadRows) {
    const std::size_t count = std::min<std::size_t>(kHeadRows, wanted.size() - begin);
    Tensor chosen(hidden.dtype(), {static_cast<std::int64_t>(count), hidden.extent().cols});
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(chosen.data() + i * row_bytes,
                  hidden.data() + static_cast<std::size_t>(wanted[begin + i].row) * row_bytes, row_bytes);
    head_runner_->run(stream_, static_cast<std::int64_t>(count), {.inputs = {{"hidden", chosen}}, .states = {}});
    const Tensor logits = head_runner_->output("logits");
    const auto width = static_cast<std::size_t>(logits.extent().cols);
    for (std::size_t i = 0; i < count; ++i)
      on_logits(wanted[begin + i].piece, wanted[begin + i].token, {logits.as<float>() + i * width, width});
  }
}

void LanguageEngine::read(Sequence& sequence, std::span<const std::int32_t> ids, Wanted wanted,
                          const std::function<void(std::int64_t, std::span<const float>)>& on_logits) {
  const auto step_size = static_cast<std::size_t>(options_.batch_rows);
  for (std::size_t begin = 0; begin < ids.size(); begin += step_size) {
    const auto part = ids.subspan(begin, std::min(step_size, ids.size() - begin));
    const bool is_last = begin + part.size() == ids.size();
    const Piece piece{&sequence, part, wanted == Wanted::kLast && !is_last ? Wanted::kNone : wanted};
    step({&piece, 1}, [&](std::size_t, std::int64_t token, std::span<const float> logits) {
      on_logits(static_cast<std::int64_t>(begin) + token, logits);
    });
  }
}

}  // namespace tessera
