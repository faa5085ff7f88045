#include "tessera/base/threads.h"

#include <sched.h>

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tessera/base/error.h"

namespace tessera {
namespace {

// About 10 us: longer than the gap between two kernels of one layer, shorter than a scheduler's slice. Spinning on
// would take the core from the threads that are waited for when there are more threads than cores.
constexpr int kSpins = 256;

bool& inside_pool() {
  thread_local bool inside = false;
  return inside;
}

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns the first value of `atomic` that is not `old`.
int wait_while(const std::atomic<int>& atomic, int old) {
  for (int i = 0; i < kSpins; ++i) {
    const int now = atomic.load(std::memory_order_acquire);
    if (now != old) return now;
    relax();
  }
  int now = atomic.load(std::memory_order_acquire);
  while (now == old) {
    atomic.wait(old, std::memory_order_acquire);
    now = atomic.load(std::memory_order_acquire);
  }
  return now;
}

}  // namespace

int available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) {
  require(threads >= 1, Errc::kInvalid, "a pool of {} threads was asked for; it needs at least 1", threads);
  slots_.resize(static_cast<std::size_t>(threads));
  workers_.reserve(static_cast<std::size_t>(threads - 1));
  for (int worker = 1; worker < threads; ++worker) workers_.emplace_back([this, worker] { work(worker); });
}

ThreadPool::~ThreadPool() {
  ending_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::work(int worker) {
  for (int seen = 0;;) {
    seen = wait_while(generation_, seen);
    if (ending_.load(std::memory_order_relaxed)) return;
    run_worker(task_, worker);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

void ThreadPool::run_worker(const Task& task, int worker) noexcept {
  inside_pool() = true;
  try {
    task.call(task.body, worker);
  } catch (...) {
    slots_[static_cast<std::size_t>(worker)].error = std::current_exception();
  }
  inside_pool() = false;
}

void ThreadPool::run_task(const Task& task) {
  if (inside_pool()) {
    for (int worker = 0; worker < size(); ++worker) task.call(task.body, worker);
    return;
  }
  const std::lock_guard lock(turn_);
  task_ = task;
  running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  run_worker(task, 0);
  for (int left = running_.load(std::memory_order_acquire); left != 0;) left = wait_while(running_, left);

  std::exception_ptr first;
  for (Slot& slot : slots_) {
    if (!first) first = slot.error;
    slot.error = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace tessera
