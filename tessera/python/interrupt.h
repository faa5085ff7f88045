// Long work with Python's lock released, which Ctrl-C ends.
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>

namespace tessera::python {

// Looks for signals now and then, on the thread that made it: only the main one is told of them. Once a handler has
// raised, every thread of the work gets an exception at its next step.
class Interrupt final {
 public:
  void check() {
    if (raised_.load(std::memory_order_relaxed)) throw Stop{};
    if (std::this_thread::get_id() != owner_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    const nanobind::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() == 0) return;
    error_ = std::make_exception_ptr(nanobind::python_error());
    raised_ = true;
    throw Stop{};
  }
  // With Python's lock held: rethrows what the handler raised.
  void rethrow() const {
    if (raised_) std::rethrow_exception(error_);
  }

 private:
  struct Stop {};
  std::thread::id owner_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point last_{};
  std::atomic<bool> raised_{false};
  std::exception_ptr error_;
};

// work(check) without Python's lock; it calls check() often, from any thread. What it was writing is removed as after
// any other error.
template <class Work>
auto interruptible(const Work& work) {
  Interrupt interrupt;
  try {
    const nanobind::gil_scoped_release released;
    return work(std::function<void()>([&interrupt] { interrupt.check(); }));
  } catch (...) {
    interrupt.rethrow();
    throw;
  }
}

}  // namespace tessera::python
