#include "tessera/app/report.h"

#include "tessera/base/error.h"

namespace tessera::app {

std::string text_of(const std::vector<Problem>& problems, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < problems.size() && i < most; ++i)
    text += fmt::format("  {}{}: {}\n", problems[i].harmless ? "harmless " : "", problems[i].code, problems[i].message);
  if (problems.size() > most) text += fmt::format("  and {} more (--json lists all)\n", problems.size() - most);
  return text;
}

std::string format_count(std::uint64_t count) {
  const auto c = static_cast<double>(count);
  if (count < 1000) return std::to_string(count);
  if (c < 1e6) return fmt::format("{:.1f} k", c / 1e3);
  return c < 1e9 ? fmt::format("{:.1f} M", c / 1e6) : fmt::format("{:.2f} B", c / 1e9);
}

}  // namespace tessera::app
