#include "tessera/base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t kBarColumns = 24;
constexpr std::string_view kClearLine = "\r\x1b[K";

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string format_bytes(double bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < kUnits.size()) bytes /= 1000, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string draw_progress(const ProgressState& state, std::size_t width) {
  const auto done = static_cast<double>(state.done), total = static_cast<double>(state.total);
  const double rate = state.seconds > 0 ? done / state.seconds : 0;
  std::string line = state.label + "  ";
  if (state.total > 0) {
    const double share = std::clamp(done / total, 0.0, 1.0);
    const auto full = static_cast<std::size_t>(share * static_cast<double>(kBarColumns));
    line += fmt::format("[{}{}]  {} of {}", std::string(full, '#'), std::string(kBarColumns - full, '.'),
                        format_bytes(done), format_bytes(total));
  } else {
    line += format_bytes(done);
  }
  if (rate > 0) line += fmt::format("  {}/s", format_bytes(rate));
  if (rate > 0 && total > done) line += fmt::format("  {:.0f} s left", (total - done) / rate);
  if (line.size() > width) line.resize(width);
  return line;
}

Progress::Progress(std::string label, std::uint64_t total_bytes, ProgressMode mode, std::function<void()> check)
    : label_(std::move(label)),
      total_(total_bytes),
      shown_(mode == ProgressMode::kAuto && ::isatty(STDERR_FILENO) == 1),
      check_(std::move(check)) {}

Progress::~Progress() {
  if (shown_) put(kClearLine);
}

void Progress::add(std::uint64_t bytes) {
  done_.fetch_add(bytes, std::memory_order_relaxed);
  if (shown_) draw();
  if (check_) check_();
}

void Progress::draw() {
  const std::unique_lock lock(drawing_, std::try_to_lock);
  if (!lock) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const ProgressState state{label_, done_.load(std::memory_order_relaxed), total_,
                            std::chrono::duration<double>(now - start_).count()};
  put(std::string(kClearLine) + draw_progress(state, terminal_columns() - 1));
}

}  // namespace tessera
