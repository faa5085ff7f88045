// A progress bar on standard error, and only when that is a terminal: bytes done, rate, time left.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace tessera {

enum class ProgressMode : std::uint8_t { kAuto, kNever };  // kAuto: when standard error is a terminal

class Progress final {
 public:
  // `check`: called by each add(), on its thread; what it throws ends the work. An interpreter looks for Ctrl-C there.
  Progress(std::string label, std::uint64_t total_bytes, ProgressMode mode = ProgressMode::kAuto,
           std::function<void()> check = {});
  ~Progress();  // wipes the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t bytes);  // any thread; draws at most ten times a second

 private:
  using Clock = std::chrono::steady_clock;
  void draw();

  std::string label_;
  std::uint64_t total_;
  bool shown_;
  std::function<void()> check_;
  Clock::time_point start_ = Clock::now();
  std::atomic<std::uint64_t> done_{0};
  std::mutex drawing_;
  Clock::time_point last_;
};

struct ProgressState {
  std::string label;
  std::uint64_t done = 0, total = 0;  // bytes; total 0: unknown
  double seconds = 0;                 // since the start
};
// One line of at most `width` columns: "reading  [####....]  1.5 of 3.0 GB  500.0 MB/s  3 s left".
std::string draw_progress(const ProgressState& state, std::size_t width);

// "1.5 GB", in powers of ten; whole below 1 kB.
std::string format_bytes(double bytes);

}  // namespace tessera
