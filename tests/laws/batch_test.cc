// Law 1 for requests: what one gets is what it gets alone, whoever else is there, whenever they come, whether its
// prompt's beginning was read before, and after others were cancelled.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "tessera/infer/batcher.h"
#include "tessera/infer/generate.h"
#include "tessera/infer/log_probability.h"
#include "tessera/numeric/philox.h"

namespace tessera {
namespace {

class Listener final : public BatchListener {
 public:
  void on_prompt_token(const BatchToken& token) override {
    const std::lock_guard lock(mutex_);
    prompt.push_back(token.id);
    prompt_logprobs.push_back(token.logprob);
  }
  bool on_token(const BatchToken& token) override {
    const std::lock_guard lock(mutex_);
    ids.push_back(token.id);
    return true;
  }
  void on_end(BatchEnd how, const Error*) override {
    const std::lock_guard lock(mutex_);
    end = how;
    changed_.notify_all();
  }
  BatchEnd wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return end.has_value(); });
    return *end;
  }
  std::vector<std::int32_t> ids, prompt;
  std::vector<double> prompt_logprobs;
  std::optional<BatchEnd> end;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

std::vector<std::int32_t> prompt_of(std::size_t request) {
  std::vector<std::int32_t> ids;  // every other prompt begins alike, for more than a page
  for (std::uint64_t i = 0; i < 30 + 11 * (request % 9); ++i) {
    const std::uint64_t stream = request % 2 == 0 && i < 70 ? 1 : 2 + request;
    ids.push_back(static_cast<std::int32_t>(random_word({.seed = 4, .stream = stream}, i) % 128));
  }
  return ids;
}

BatchRequest request_of(std::size_t i) {
  return {.prompt = prompt_of(i),
          .sampling = {.temperature = i % 3 == 0 ? 0.0 : 0.8, .top_p = 0.9, .repetition_penalty = 1.1, .seed = i},
          .max_tokens = 5 + static_cast<std::int64_t>(i % 20)};
}

TEST(Batch, GivesEachRequestWhatItGetsAlone) {
  const Checkpoint checkpoint =
      Checkpoint::open(std::string(TESSERA_TEST_DATA) + "/checkpoints/quantized/llmcompressor-llama-NVFP4");
  Stream stream(kCpu, 2);
  // The cache holds about five of the twenty four texts, so some wait and what was read before is let go.
  LanguageEngine engine(stream, checkpoint, {.cache_tokens = 640, .batch_rows = 48});
  constexpr std::size_t kRequests = 24;
  std::vector<std::vector<std::int32_t>> alone;
  for (std::size_t i = 0; i < kRequests; ++i) {
    Sequence sequence = engine.start();
    const BatchRequest r = request_of(i);
    alone.push_back(
        generate(engine, sequence, nullptr, r.prompt, {.sampling = r.sampling, .max_tokens = r.max_tokens}).ids);
  }
  for (const std::int64_t concurrent : {1, 3, 8}) {
    Batcher batcher(engine, {.concurrent = concurrent, .queued = 64});
    std::vector<std::shared_ptr<Listener>> listeners;
    std::vector<std::uint64_t> tickets;
    for (std::size_t i = 0; i < kRequests; ++i) {
      listeners.push_back(std::make_shared<Listener>());
      tickets.push_back(batcher.submit(request_of(i), listeners.back()));
      if (i % 7 == 6) batcher.cancel(tickets[i - 1]);
    }
    for (std::size_t i = 0; i < kRequests; ++i) {
      const BatchEnd end = listeners[i]->wait();
      if (end == BatchEnd::kCancelled) continue;
      EXPECT_EQ(end, BatchEnd::kLength);
      EXPECT_EQ(listeners[i]->ids, alone[i]) << "request " << i << " of " << concurrent << " at once";
    }
    const BatchStats stats = batcher.stats();
    EXPECT_EQ(stats.requests, kRequests);
    if (concurrent == 1) {  // with more there may be no room for what was read before
      EXPECT_GT(stats.reused_tokens, 0u);
    }
    batcher.drain(10);
  }
  EXPECT_EQ(engine.cache().free_pages(), engine.cache().capacity());  // nothing is held any more
}

TEST(Batch, TellsAPromptAsTheModelReadsItAlone) {
  const Checkpoint checkpoint = Checkpoint::open(std::string(TESSERA_TEST_DATA) + "/checkpoints/bf16/llama");
  Stream stream(kCpu, 2);
  LanguageEngine engine(stream, checkpoint, {.cache_tokens = 512, .batch_rows = 48});
  Batcher batcher(engine, {.concurrent = 4, .queued = 8});
  std::vector<std::shared_ptr<Listener>> listeners;
  for (std::size_t i = 0; i < 6; ++i) {  // every other one only tells; beginnings that were read before are told too
    BatchRequest request = request_of(i);
    request.tells_prompt = true;
    if (i % 2 == 1) request.max_tokens = 0;
    listeners.push_back(std::make_shared<Listener>());
    batcher.submit(std::move(request), listeners.back());
  }
  for (const auto& listener : listeners) EXPECT_EQ(listener->wait(), BatchEnd::kLength);
  batcher.drain(10);
  LanguageEngine alone(stream, checkpoint, {.cache_tokens = 512});
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    const std::vector<std::int32_t> prompt = prompt_of(i);
    std::vector<double> expected;
    Sequence sequence = alone.start();
    alone.read(sequence, prompt, Wanted::kAll, [&](std::int64_t token, std::span<const float> logits) {
      const auto next = static_cast<std::size_t>(token) + 1;
      if (next < prompt.size()) expected.push_back(log_probability(logits, prompt[next]));
    });
    EXPECT_EQ(listeners[i]->prompt, std::vector<std::int32_t>(prompt.begin() + 1, prompt.end()));
    EXPECT_EQ(listeners[i]->prompt_logprobs, expected);
    EXPECT_EQ(listeners[i]->ids.empty(), i % 2 == 1);
  }
}

TEST(Batch, RefusesWhatCannotRun) {
  const Checkpoint checkpoint = Checkpoint::open(std::string(TESSERA_TEST_DATA) + "/checkpoints/bf16/llama");
  Stream stream(kCpu, 1);
  LanguageEngine engine(stream, checkpoint, {.cache_tokens = 128});
  Batcher batcher(engine, {.concurrent = 1, .queued = 1});
  const auto error_of = [&](BatchRequest request) {
    try {
      batcher.submit(std::move(request), std::make_shared<Listener>());
      return std::string("none");
    } catch (const Error& e) {
      return e.message();
    }
  };
  EXPECT_EQ(error_of({.max_tokens = 1}), "the prompt has no tokens");
  EXPECT_EQ(error_of({.prompt = {128}, .max_tokens = 1}), "token id 128 of a vocabulary of 128");
  EXPECT_EQ(error_of({.prompt = {1, 2}, .max_tokens = 127}),
            "2 prompt tokens + 127 new tokens exceed the context of 128");
  batcher.drain(1);
  EXPECT_EQ(error_of({.prompt = {1}, .max_tokens = 1}), "the server is shutting down");
}

}  // namespace
}  // namespace tessera
