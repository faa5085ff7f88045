// Batcher: many requests for text at once. Each step of the model reads one token of every text that is being written
// and, with the room that is left, the next pieces of prompts; requests come and go between steps (continuous
// batching).
//
// Law (1): what a request gets does not depend on the others. A request is admitted only when the cache has room for
// its prompt and all tokens that it may write, so that none fails half way for want of memory.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/infer/language_engine.h"
#include "tessera/infer/prefix_store.h"
#include "tessera/infer/sampler.h"

namespace tessera {

struct BatchRequest {
  std::vector<std::int32_t> prompt{};
  SamplingOptions sampling{};
  std::vector<std::pair<std::int32_t, float>> logit_bias{};  // id, what is added to its logit
  std::uint64_t stream = 0;                                  // tells apart what is sampled with one seed
  std::int64_t max_tokens = 16;                              // 0: only the prompt is told
  std::vector<std::int32_t> end_ids{};                       // tokens that end the text, and are not part of it
  int top_logprobs = 0;                                      // the likeliest tokens to tell with each
  bool tells_prompt = false;                                 // on_prompt_token for the prompt's tokens after the first
};

struct BatchToken {
  std::int32_t id = 0;
  double logprob = 0;                                // by the model's own logits, before bias and sampling
  std::vector<std::pair<std::int32_t, double>> top;  // falling
};

enum class BatchEnd : std::uint8_t { kEnd, kLength, kStopped, kCancelled, kFailed };

// Called on the batcher's thread, in order; calls must be short and must not throw.
class BatchListener {
 public:
  virtual ~BatchListener() = default;
  virtual void on_prompt_token(const BatchToken&) {}
  virtual bool on_token(const BatchToken& token) = 0;         // false: enough, the text ends here (kStopped)
  virtual void on_end(BatchEnd end, const Error* error) = 0;  // once, last; error: of kFailed
};

struct BatchLimits {
  std::int64_t concurrent = 8;  // texts that are written at once
  std::int64_t queued = 256;    // requests that wait
};

struct BatchStats {
  std::int64_t running = 0, queued = 0;
  std::int64_t pages = 0, free_pages = 0;  // of the cache; what was read before and is kept for others is not free
  std::uint64_t requests = 0, prompt_tokens = 0, reused_tokens = 0, generated_tokens = 0, steps = 0;
};

class Batcher final {
 public:
  Batcher(LanguageEngine& engine, const BatchLimits& limits);
  ~Batcher();  // cancels what is there

  // Any thread. Gives a number for cancel(). Throws kInvalid: no tokens, ids outside of the vocabulary, senseless
  // sampling, more tokens than the model reads or than the whole cache holds; kResource: the queue is full; kPeer: the
  // batcher is shutting down.
  std::uint64_t submit(BatchRequest request, std::shared_ptr<BatchListener> listener);
  void cancel(std::uint64_t ticket);  // ends it with kCancelled, if it is still there
  // No more requests; returns when those that are there have ended, or after `seconds`, then cancelling them.
  void drain(double seconds);
  BatchStats stats() const;
  std::int64_t context() const;  // prompt and new tokens of one request, at most
  const BatchLimits& limits() const { return limits_; }

 private:
  struct Job;
  void work();
  void admit();
  bool admit_next();
  void step();
  void tell_prompt(Job& job, std::int64_t place, std::span<const float> logits);
  void take_logits(Job& job, std::span<const float> logits);
  void end(Job& job, BatchEnd end, const Error* error = nullptr);
  std::int64_t pages_of(const Job& job) const;

  LanguageEngine& engine_;
  BatchLimits limits_;
  PrefixStore prefixes_;
  std::vector<std::unique_ptr<Job>> running_;  // of the thread alone

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Job>> queue_;
  std::vector<std::uint64_t> cancelled_;
  BatchStats stats_;
  std::uint64_t next_ticket_ = 1;
  bool is_closed_ = false, is_ending_ = false;
  std::thread thread_;
};

}  // namespace tessera
