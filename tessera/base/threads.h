// ThreadPool: n threads that each take a fixed part of every loop. The caller is worker 0.
// The parts are a function of (n, number of threads) alone; nothing that a loop computes may depend on either: write to
// disjoint places, and combine in index order afterwards.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera {

struct Part {
  std::int64_t begin = 0, end = 0;
};
// Part `index` of [0, n) cut in `parts`: contiguous, in order, sizes differ by at most one.
constexpr Part part_of(std::int64_t n, std::int64_t parts, std::int64_t index) {
  const std::int64_t size = n / parts, longer = n % parts;
  const auto begin_of = [&](std::int64_t i) { return i * size + (i < longer ? i : longer); };
  return {begin_of(index), begin_of(index + 1)};
}

// The processors that this process may run on.
int available_processors();

class ThreadPool final {
 public:
  explicit ThreadPool(int threads = available_processors());  // at least 1
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(worker) once for each worker in [0, size()), all at once, and returns when all have. The exception of
  // the lowest worker is rethrown. Calls from several threads take turns; a call from inside a body of any pool runs
  // its workers one after another on the calling thread.
  template <class Body>
  void run(const Body& body) {
    run_task({[](const void* b, int worker) { (*static_cast<const Body*>(b))(worker); }, &body});
  }

 private:
  struct Task {
    void (*call)(const void* body, int worker) = nullptr;
    const void* body = nullptr;
  };
  struct Slot {
    std::exception_ptr error;
  };

  void run_task(const Task& task);
  void run_worker(const Task& task, int worker) noexcept;
  void work(int worker);

  std::mutex turn_;                 // held by the thread whose task runs
  Task task_;                       // written before generation_ grows, read after
  std::atomic<int> generation_{0};  // grows by one with each task, and when the pool ends
  std::atomic<int> running_{0};
  std::atomic<bool> ending_{false};
  std::vector<Slot> slots_;
  std::vector<std::thread> workers_;
};

// Calls fn(begin, end, worker) for the non-empty parts of [0, n). Exceptions: the one of the lowest part is rethrown.
template <class Fn>
void parallel_for(ThreadPool& pool, std::int64_t n, const Fn& fn) {
  const int parts = pool.size();
  if (n <= 0) return;
  if (n == 1 || parts == 1) {
    fn(std::int64_t{0}, n, 0);
    return;
  }
  pool.run([&](int worker) {
    const Part part = part_of(n, parts, worker);
    if (part.begin < part.end) fn(part.begin, part.end, worker);
  });
}

}  // namespace tessera
