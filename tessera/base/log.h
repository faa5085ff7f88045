// The log: lines on standard error, above a level. Standard output belongs to results.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace tessera {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError, kOff };

// "debug", "info", "warning", "error", "off".
std::string_view log_level_name(LogLevel level);
std::optional<LogLevel> find_log_level(std::string_view name);

// The level starts as the environment variable TESSERA_LOG says, else kWarning. Any thread.
void set_log_level(LogLevel level);
LogLevel log_level();

void log_text(LogLevel level, std::string_view text);
void log_text_once(LogLevel level, std::string_view text);  // the same text is written once in a process

// Formats only what is written.
template <class... Args>
void log_message(LogLevel level, fmt::format_string<Args...> text, Args&&... args) {
  if (level >= log_level()) log_text(level, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_once(LogLevel level, fmt::format_string<Args...> text, Args&&... args) {
  if (level >= log_level()) log_text_once(level, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace tessera
