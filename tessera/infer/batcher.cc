#include "tessera/infer/batcher.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "tessera/infer/log_probability.h"

namespace tessera {
namespace {

// `id` as it is told, with the `most` likeliest tokens there.
BatchToken told(std::int32_t id, std::span<const float> logits, int most) {
  BatchToken token{.id = id, .logprob = log_probability(logits, id), .top = {}};
  if (most <= 0) return token;
  std::vector<std::int32_t> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  const auto count = std::min(static_cast<std::size_t>(most), order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  for (std::size_t i = 0; i < count; ++i) token.top.emplace_back(order[i], log_probability(logits, order[i]));
  return token;
}

}  // namespace

struct Batcher::Job {
  std::uint64_t ticket = 0;
  BatchRequest request;
  std::shared_ptr<BatchListener> listener;
  Sampler sampler;
  std::vector<std::int32_t> ids{};  // prompt and what was written
  std::optional<Sequence> sequence{};
  std::int64_t written = 0;
  std::optional<BatchEnd> ended{};

  // Ids that the model has not read.
  std::span<const std::int32_t> unread() const {
    return std::span(ids).subspan(static_cast<std::size_t>(sequence->length()));
  }
};

Batcher::Batcher(LanguageEngine& engine, const BatchLimits& limits)
    : engine_(engine), limits_(limits), prefixes_(engine) {
  require(limits.concurrent >= 1 && limits.concurrent <= engine.options().batch_rows && limits.queued >= 1,
          Errc::kInvalid, "{} requests at once and {} waiting; 1 to {} can run", limits.concurrent, limits.queued,
          engine.options().batch_rows);
  stats_.pages = engine.cache().capacity();
  stats_.free_pages = engine.cache().free_pages();
  thread_ = std::thread([this] { work(); });
}

Batcher::~Batcher() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t Batcher::submit(BatchRequest request, std::shared_ptr<BatchListener> listener) {
  const auto length = static_cast<std::int64_t>(request.prompt.size());
  const std::int64_t longest = context(), least = request.tells_prompt ? 0 : 1;
  require(length > 0, Errc::kInvalid, "the prompt has no tokens");
  require(request.max_tokens >= least, Errc::kInvalid, "{} tokens to write; {} at least", request.max_tokens, least);
  require(length + request.max_tokens <= longest, Errc::kInvalid,
          "{} prompt tokens + {} new tokens exceed the context of {}", length, request.max_tokens, longest);
  for (const std::int32_t id : request.prompt)
    require(id >= 0 && id < engine_.shape().vocabulary, Errc::kInvalid, "token id {} of a vocabulary of {}", id,
            engine_.shape().vocabulary);
  auto job = std::make_unique<Job>(
      Job{.request = std::move(request), .listener = std::move(listener), .sampler = Sampler(request.sampling)});
  job->ids = job->request.prompt;
  const std::lock_guard lock(mutex_);
  require(!is_closed_, Errc::kPeer, "the server is shutting down");
  require(static_cast<std::int64_t>(queue_.size()) < limits_.queued, Errc::kResource,
          "the queue of {} requests is full", limits_.queued);
  job->ticket = next_ticket_++;
  ++stats_.requests;
  const std::uint64_t ticket = job->ticket;
  queue_.push_back(std::move(job));
  stats_.queued = static_cast<std::int64_t>(queue_.size());
  changed_.notify_all();
  return ticket;
}

void Batcher::cancel(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  cancelled_.push_back(ticket);
  changed_.notify_all();
}

void Batcher::drain(double seconds) {
  std::unique_lock lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
  const auto is_done = [this] { return stats_.running == 0 && queue_.empty(); };
  if (changed_.wait_for(lock, std::chrono::duration<double>(seconds), is_done)) return;
  is_ending_ = true;
  changed_.notify_all();
  changed_.wait(lock, is_done);
}

std::int64_t Batcher::context() const {
  return std::min(engine_.shape().longest, engine_.cache().capacity() * KvPage::kTokens);
}

BatchStats Batcher::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::int64_t Batcher::pages_of(const Job& job) const {
  return ceil_div(static_cast<std::int64_t>(job.request.prompt.size()) + job.request.max_tokens, KvPage::kTokens);
}

void Batcher::work() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_ending_ || !queue_.empty() || !running_.empty(); });
      if (is_ending_ && queue_.empty() && running_.empty()) return;
    }
    admit();
    step();
    std::erase_if(running_, [](const std::unique_ptr<Job>& job) { return job->ended.has_value(); });
    const std::lock_guard lock(mutex_);
    stats_.running = static_cast<std::int64_t>(running_.size());
    stats_.free_pages = engine_.cache().free_pages();
    changed_.notify_all();
  }
}

// Takes what was cancelled out, and lets waiting requests in while there is room for all that they may write.
void Batcher::admit() {
  std::vector<std::unique_ptr<Job>> dropped;
  {
    const std::lock_guard lock(mutex_);
    const auto is_cancelled = [this](const Job& job) {
      return is_ending_ || std::find(cancelled_.begin(), cancelled_.end(), job.ticket) != cancelled_.end();
    };
    for (const std::unique_ptr<Job>& job : running_)
      if (is_cancelled(*job)) job->ended = BatchEnd::kCancelled;
    for (auto job = queue_.begin(); job != queue_.end();) {
      if (!is_cancelled(**job)) {
        ++job;
        continue;
      }
      dropped.push_back(std::move(*job));
      job = queue_.erase(job);
    }
    cancelled_.clear();
    stats_.queued = static_cast<std::int64_t>(queue_.size());
  }
  for (const std::unique_ptr<Job>& job : dropped) job->listener->on_end(BatchEnd::kCancelled, nullptr);
  for (const std::unique_ptr<Job>& job : running_)
    if (job->ended) end(*job, *job->ended);
  std::erase_if(running_, [](const std::unique_ptr<Job>& job) { return job->ended.has_value(); });
  while (static_cast<std::int64_t>(running_.size()) < limits_.concurrent && admit_next()) {
  }
}

// The request that waits longest, if there is one and there is room for it.
bool Batcher::admit_next() {
  Job* next = nullptr;  // stays where it is: this thread alone takes requests out
  {
    const std::lock_guard lock(mutex_);
    if (!queue_.empty()) next = queue_.front().get();
  }
  if (next == nullptr) return false;
  // Whoever wants to be told of the prompt needs its logits, which are not kept.
  Sequence sequence = next->request.tells_prompt ? engine_.start() : prefixes_.find(next->ids);
  const auto held = [](std::int64_t length) { return ceil_div(length, KvPage::kTokens); };
  std::int64_t wanted = pages_of(*next) - held(sequence.length());
  for (const std::unique_ptr<Job>& other : running_)  // pages that running texts have yet to take
    wanted += pages_of(*other) - held(other->sequence->length());
  prefixes_.make_room(wanted);
  if (engine_.cache().free_pages() < wanted) return false;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Job> job = std::move(queue_.front());
  queue_.pop_front();
  stats_.queued = static_cast<std::int64_t>(queue_.size());
  ++stats_.running;
  stats_.reused_tokens += static_cast<std::uint64_t>(sequence.length());
  stats_.prompt_tokens += job->request.prompt.size();
  job->sequence = std::move(sequence);
  running_.push_back(std::move(job));
  return true;
}

void Batcher::step() {
  if (running_.empty()) return;
  std::vector<LanguageEngine::Piece> pieces;
  std::vector<Job*> jobs;
  std::vector<std::int64_t> starts;  // of the pieces in their texts
  std::int64_t room = engine_.options().batch_rows - static_cast<std::int64_t>(running_.size());
  for (const std::unique_ptr<Job>& job : running_) {
    const auto unread = job->unread();
    const std::int64_t count = std::min(static_cast<std::int64_t>(unread.size()), room + 1);  // one is everyone's
    room -= count - 1;
    const bool is_whole = count == static_cast<std::int64_t>(unread.size());
    const bool tells = job->request.tells_prompt && job->written == 0;
    const Wanted wanted = tells ? Wanted::kAll : is_whole ? Wanted::kLast : Wanted::kNone;
    pieces.push_back({&*job->sequence, unread.first(static_cast<std::size_t>(count)), wanted});
    jobs.push_back(job.get());
    starts.push_back(job->sequence->length());
  }
  try {
    engine_.step(pieces, [&](std::size_t piece, std::int64_t token, std::span<const float> logits) {
      Job& job = *jobs[piece];
      if (job.ended) return;
      const std::int64_t place = starts[piece] + token;
      if (place + 1 < static_cast<std::int64_t>(job.request.prompt.size())) return tell_prompt(job, place, logits);
      take_logits(job, logits);
    });
  } catch (const Error& e) {
    for (Job* job : jobs)
      if (!job->ended) end(*job, BatchEnd::kFailed, &e);
  }
  const std::lock_guard lock(mutex_);
  ++stats_.steps;
}

// logits: of what follows the prompt's token `place`.
void Batcher::tell_prompt(Job& job, std::int64_t place, std::span<const float> logits) {
  const std::int32_t next = job.request.prompt[static_cast<std::size_t>(place + 1)];
  job.listener->on_prompt_token(told(next, logits, job.request.top_logprobs));
}

void Batcher::take_logits(Job& job, std::span<const float> logits) {
  const BatchRequest& request = job.request;
  if (request.max_tokens == 0) return end(job, BatchEnd::kLength);
  std::int32_t id = 0;
  try {
    if (request.logit_bias.empty()) {
      id = job.sampler.next(logits, job.ids, job.ids.size(), request.stream);
    } else {
      std::vector<float> biased(logits.begin(), logits.end());
      for (const auto& [token, bias] : request.logit_bias) biased[static_cast<std::size_t>(token)] += bias;
      id = job.sampler.next(biased, job.ids, job.ids.size(), request.stream);
    }
  } catch (const Error& e) {
    return end(job, BatchEnd::kFailed, &e);
  }
  if (std::find(request.end_ids.begin(), request.end_ids.end(), id) != request.end_ids.end())
    return end(job, BatchEnd::kEnd);
  const BatchToken token = told(id, logits, request.top_logprobs);
  job.ids.push_back(id);
  ++job.written;
  {
    const std::lock_guard lock(mutex_);
    ++stats_.generated_tokens;
  }
  if (!job.listener->on_token(token)) return end(job, BatchEnd::kStopped);
  if (job.written >= request.max_tokens) end(job, BatchEnd::kLength);
}

void Batcher::end(Job& job, BatchEnd how, const Error* error) {
  job.ended = how;
  // Within a step the sequence does not know yet what it reads: it is kept by the ids that it has read before.
  if (job.sequence && how != BatchEnd::kFailed) prefixes_.keep(job.ids, std::move(*job.sequence));
  job.sequence.reset();
  job.listener->on_end(how, error);
}

}  // namespace tessera
