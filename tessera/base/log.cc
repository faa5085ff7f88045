#include "tessera/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace tessera {
namespace {

struct LevelFacts {
  std::string_view name;
  spdlog::level::level_enum level;
};
constexpr std::array<LevelFacts, 5> kLevels{{{"debug", spdlog::level::debug},
                                             {"info", spdlog::level::info},
                                             {"warning", spdlog::level::warn},
                                             {"error", spdlog::level::err},
                                             {"off", spdlog::level::off}}};

const LevelFacts& facts_of(LogLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

LogLevel level_at_start() {
  const char* wanted = std::getenv("TESSERA_LOG");
  return find_log_level(wanted == nullptr ? "" : wanted).value_or(LogLevel::kWarning);
}

std::atomic<LogLevel>& current_level() {
  static std::atomic<LogLevel> level{level_at_start()};
  return level;
}

spdlog::logger& logger() {
  static const auto made = [] {
    auto logger = std::make_shared<spdlog::logger>("tessera", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_level(spdlog::level::trace);  // log_level() decides
    logger->set_pattern("[%H:%M:%S.%e %^%l%$] %v");
    return logger;
  }();
  return *made;
}

}  // namespace

std::string_view log_level_name(LogLevel level) { return facts_of(level).name; }

std::optional<LogLevel> find_log_level(std::string_view name) {
  for (std::size_t i = 0; i < kLevels.size(); ++i)
    if (kLevels[i].name == name) return static_cast<LogLevel>(i);
  return std::nullopt;
}

void set_log_level(LogLevel level) { current_level().store(level, std::memory_order_relaxed); }
LogLevel log_level() { return current_level().load(std::memory_order_relaxed); }

void log_text(LogLevel level, std::string_view text) {
  if (level < log_level() || level == LogLevel::kOff) return;
  logger().log(facts_of(level).level, spdlog::string_view_t(text.data(), text.size()));
}

void log_text_once(LogLevel level, std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> written;
  if (level < log_level()) return;
  {
    const std::lock_guard lock(mutex);
    if (!written.emplace(text).second) return;
  }
  log_text(level, text);
}

}  // namespace tessera
