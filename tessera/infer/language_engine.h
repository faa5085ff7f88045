// LanguageEngine: a language model in memory that reads tokens of any number of sequences and gives logits.
//
//   LanguageEngine engine(stream, checkpoint, {});
//   Sequence sequence = engine.start();
//   engine.read(sequence, prompt, Wanted::kLast, [&](std::int64_t, std::span<const float> logits) { ... });
// Law (1): a token's logits are a function of the tokens before it in its sequence, bitwise: not of what else is in the
// batch, of how the prompt is cut, of threads, or of whether its keys and values were computed now or before.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/graph/runner.h"
#include "tessera/infer/kv_cache.h"
#include "tessera/io/checkpoint.h"
#include "tessera/models/language_model.h"

namespace tessera {

struct EngineOptions {
  DType compute = DType::kBf16;   // of activations between operations: BF16 or F32
  std::optional<DType> cache{};   // of keys and values; none: as compute
  std::int64_t cache_tokens = 0;  // over all sequences; 0: the model's longest, at most 8192
  std::int64_t batch_rows = 256;  // tokens that are computed at once
  graph::Execution execution = graph::Execution::kFused;
  models::HiddenStates hidden = models::HiddenStates::kLast;
  bool show_progress = false;
  std::function<void()> check = {};
};

class LanguageEngine;

// The tokens that have been read of one text. Holds pages of the engine's cache until it ends; must not outlive it.
class Sequence final {
 public:
  Sequence(Sequence&& other) noexcept;
  Sequence& operator=(Sequence&& other) noexcept;
  ~Sequence();
  std::int64_t length() const { return length_; }
  // Another sequence with the first `length` tokens of this one: whole pages are shared. Throws kInvalid unless length
  // is a multiple of 64, and at most length().
  Sequence fork(std::int64_t length) const;

 private:
  friend class LanguageEngine;
  explicit Sequence(KvCache& cache) : cache_(&cache) {}
  void clear();
  KvCache* cache_;
  std::vector<std::int32_t> pages_;
  std::int64_t length_ = 0;
};

enum class Wanted : std::uint8_t { kNone, kLast, kAll };

class LanguageEngine final {
 public:
  // Throws kUnsupported for an architecture that is not here, and what load_params throws.
  LanguageEngine(Stream& stream, const Checkpoint& checkpoint, const EngineOptions& options);
  ~LanguageEngine();

  const models::LanguageModel& model() const { return *model_; }
  const models::LanguageShape& shape() const { return model_->shape(); }
  const EngineOptions& options() const { return options_; }
  KvCache& cache() { return *cache_; }
  std::size_t weight_bytes() const;
  std::span<Param* const> params() const { return params_; }
  const graph::Graph& trunk() const { return trunk_; }
  const graph::Graph& head() const { return head_; }

  Sequence start() { return Sequence(*cache_); }

  // Reads the next ids of several sequences at once. on_logits(piece, token, logits): for each token that is wanted,
  // its index among the piece's ids, and [vocabulary] logits of what follows it. Throws kInvalid for more ids than
  // batch_rows, an id outside of the vocabulary, or a position beyond the model's longest; kResource when the cache is
  // full. Then no sequence has changed.
  struct Piece {
    Sequence* sequence;
    std::span<const std::int32_t> ids;
    Wanted wanted = Wanted::kLast;
  };
  using OnLogits = std::function<void(std::size_t piece, std::int64_t token, std::span<const float> logits)>;
  void step(std::span<const Piece> pieces, const OnLogits& on_logits);
  // Any number of ids of one sequence, in steps of batch_rows.
  void read(Sequence& sequence, std::span<const std::int32_t> ids, Wanted wanted,
            const std::function<void(std::int64_t token, std::span<const float> logits)>& on_logits);
  // [rows, width] in the compute type of the last step's rows: "hidden.0" ..., where the options ask for all.
  Tensor hidden(std::int64_t index) const;

 private:
  void reserve(std::span<const Piece> pieces);
  void run_head(std::span<const Piece> pieces, const OnLogits& on_logits);

  Stream& stream_;
  EngineOptions options_;
  std::unique_ptr<models::LanguageModel> model_;
  std::vector<Param*> params_;
  std::unique_ptr<KvCache> cache_;
  graph::Graph trunk_, head_;
  std::unique_ptr<graph::Plan> trunk_plan_, head_plan_;
  std::unique_ptr<graph::Runner> trunk_runner_, head_runner_;
  std::vector<std::unique_ptr<graph::State>> states_;
};

// The model that a folder's configuration asks for, without its weights. Throws kNotFound, kUnsupported, kInvalid.
std::unique_ptr<models::LanguageModel> make_language_model(const Checkpoint& checkpoint);

}  // namespace tessera
